"""An effect as people see it: a number with two intervals, a curve, and what both rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dagtune.text import printable, value_words

__all__ = ["LEVEL", "Curve", "Effect", "Mixture"]

#: Intervals hold the truth with this probability.
LEVEL = 0.9


class Mixture(NamedTuple):
    """A mixture of Gaussian distributions, one for each answer that some graphs give; a spread of 0 is a point.

    Attributes
    ----------
    weight, mean, spread : arrays of shape (k,)
        The weights add up to 1.
    """

    weight: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @property
    def centre(self) -> float:
        """Its mean."""
        return float(self.weight @ self.mean)

    def quantile(self, share: float) -> float:
        """The least number below which at least ``share`` of the mixture lies."""
        width = np.maximum(self.spread, 0.0)
        low, high = float((self.mean - 9 * width).min()), float((self.mean + 9 * width).max())
        points = np.unique(self.mean[width == 0])
        for point in points:  # a jump of the distribution function may hold the quantile
            if (
                self._below(point)
                >= share
                > self._below(point) - self.weight[(width == 0) & (self.mean == point)].sum()
            ):
                return float(point)
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if self._below(middle) >= share else (middle, high)
        return high

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """From its (1 - level) / 2 to its (1 + level) / 2 quantile."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def effect_interval(self, level: float = LEVEL) -> tuple[float, float]:
        """An interval that holds an effect with probability ``level`` whether it is 0 or not.

        That of what is not 0; it reaches to 0 if 0 has more weight than (1 - level) / 2. If all else has less, it is 0.
        """
        rest = (self.mean != 0) | (self.spread > 0)
        share, tail = float(self.weight[rest].sum()), (1 - level) / 2
        if share < tail:
            return 0.0, 0.0
        low, high = Mixture(self.weight[rest] / share, self.mean[rest], self.spread[rest]).interval(level)
        return (min(low, 0.0), max(high, 0.0)) if 1 - share > tail else (low, high)

    def _below(self, x: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(self.spread > 0, (x - self.mean) / self.spread, np.where(x >= self.mean, np.inf, -np.inf))
        return float(self.weight @ special.ndtr(z))


class Curve(NamedTuple):
    """The mean of the effect when the cause is set to each value of a grid.

    Attributes
    ----------
    grid : array of shape (k,)
        Values of the cause.
    mean, low, high : arrays of shape (k,)
        Mean of the effect there, averaged over the graphs, and its 90 % interval.
    """

    grid: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Effect:
    """The total effect of one variable on another: the change of the mean of ``on`` when ``of`` is set.

    Attributes
    ----------
    of, on : str
        The cause that is set, and the variable that is looked at.
    start, end : float or str
        The step: the cause is set to ``end`` instead of ``start``; names of levels where it has such.
    category : float, str or None
        If ``on`` is categorical: the category whose probability is looked at.
    value : float
        The change, averaged over the graphs.
    interval : tuple of float
        90 %: holds sampling error and not knowing the graph. That of the graphs in which there is an effect; 0 is in it
        unless at least 95 % of the graphs have one.
    wide_interval : tuple of float or None
        The same with directions weighed by their track record on real tables; None if there is none.
    share : float
        The share of the graphs in which ``of`` affects ``on`` at all.
    curve : Curve
        The mean of ``on`` over the range of ``of``; of named levels their codes, 0, 1, ...
    identifiable : bool
        Whether the effect can be told from the table; ``why_not`` says why not.
    why_not : str
        Empty if it can.
    caution : str
        Why the intervals may be too narrow: where the model does not hold on the way from the cause to the effect.
        Empty if nothing speaks against them.
    adjusted_for : tuple of str
        The optimal adjustment set in the likeliest graphs in which there is an effect.
    robustness : float
        How much of what is left of both variables a hidden common cause would have to explain to bring the effect to
        0 (robustness value of Cinelli and Hazlett 2020); 0 where there is no effect.
    assumptions : tuple of str
        What the numbers rest on.
    of_levels, on_levels : tuple of str
        What the codes 0, 1, ... of either stand for; empty for numbers.
    """

    of: str
    on: str
    start: float | str
    end: float | str
    category: float | str | None
    value: float
    interval: tuple[float, float]
    wide_interval: tuple[float, float] | None
    share: float
    curve: Curve
    identifiable: bool
    why_not: str
    caution: str
    adjusted_for: tuple[str, ...]
    robustness: float
    assumptions: tuple[str, ...]
    of_levels: tuple[str, ...] = ()
    on_levels: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """What of ``on`` changes, in words."""
        on, levels = printable(self.on), [printable(level) for level in self.on_levels]
        if self.category is not None or len(levels) == 2:
            return f"the probability that {on} is {value_words(levels[1] if self.category is None else self.category)}"
        return f"the mean of {on}" + (f" (0 {levels[0]} to {len(levels) - 1} {levels[-1]})" if levels else "")

    @property
    def words(self) -> str:
        """The effect in a few sentences."""
        of, what = printable(self.of), self.what
        on = printable(self.on)
        step = f"Setting {of} to {value_words(self.end)} instead of {value_words(self.start)}"
        share = f"{of} affects {on} in {self.share:.0%} of the likely graphs"
        said = (
            [] if self.identifiable else [f"Not identifiable here: {self.why_not}. The number below leaves that aside."]
        )
        if self.share == 0:
            said.append(f"{step} does not change {what}: {share}.")
        else:
            low, high = self.interval
            said.append(f"{step} changes {what} by {self.value:.3g} (90 % interval {low:.3g} to {high:.3g}); {share}.")
        if self.wide_interval is not None and (self.share > 0 or any(self.wide_interval)):
            low, high = self.wide_interval
            said.append(f"With directions only as sure as on real tables: {low:.3g} to {high:.3g}.")
        if self.caution:
            said.append(f"The intervals may be too narrow: {self.caution}.")
        if self.share > 0:
            names = ", ".join(map(printable, self.adjusted_for)) or "nothing"
            said.append(
                f"Adjusted for {names}. A hidden cause that explains {self.robustness:.0%} of what is left of both "
                "would explain it away."
            )
        return " ".join(said)

    def __str__(self) -> str:
        """The effect in words."""
        return self.words

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "of": self.of,
            "on": self.on,
            "from": self.start,
            "to": self.end,
            "category": self.category,
            "value": self.value,
            "interval": list(self.interval),
            "wide_interval": None if self.wide_interval is None else list(self.wide_interval),
            "share": self.share,
            "curve": {name: np.asarray(values).tolist() for name, values in self.curve._asdict().items()},
            "identifiable": self.identifiable,
            "why_not": self.why_not,
            "caution": self.caution,
            "adjusted_for": list(self.adjusted_for),
            "robustness": self.robustness,
            "words": self.words,
            "assumptions": list(self.assumptions),
            "of_levels": list(self.of_levels),
            "on_levels": list(self.on_levels),
        }
