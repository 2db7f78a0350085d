"""Other ways to guess a graph, chance included: BASELINES[name](X, rng=) -> boolean DAG, ``A[i, j]`` means ``i -> j``.

One table declares them all; :func:`register_baseline` adds to it, and so does ``BASELINES["mine"] = function``. A
method loads when it is used. One that needs an extra library imports it inside its function, and says which
``pip install`` line brings it.

>>> import numpy as np
>>> from dagtune.baselines import run
>>> bool(run("empty", np.eye(3)).any())
False
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dagtune.methods import METHODS, Fit, Home, Method, load
from dagtune.progress import Progress, TimeLimitError

if TYPE_CHECKING:
    import numpy as np

    from dagtune.baselines.common import Learned

__all__ = [
    "BASELINES",
    "CHANCE",
    "EXTERNAL",
    "LEARNERS",
    "Baseline",
    "Learned",
    "TimeLimitError",
    "register_baseline",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "Learned":  # numpy loads with it
        return getattr(import_module("dagtune.baselines.common"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass(frozen=True, kw_only=True)
class Baseline(Method):
    """A baseline: a function of a table.

    Parameters
    ----------
    learn : callable, or str "package.module:name", optional
        ``learn(X, rng=, time_limit=, ...)`` gives a :class:`Learned`. It is given ``threads`` if it takes them.
    guess : callable, or str "package.module:name", optional
        ``guess(X, rng=)`` gives the graph alone. One of the two must be there.
    external : bool
        Whether it comes from a package that only the user can bring.

    The other parameters are those of :class:`dagtune.methods.Method`.
    """

    learn: Home | None = None
    guess: Home | None = None
    external: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learn is None and self.guess is None:
            from dagtune.validation import InputError

            raise InputError(f"baseline {self.name!r} has no function: pass learn= or guess=")

    @property
    def home(self) -> Home:
        home = self.guess if self.learn is None else self.learn
        assert home is not None
        return home

    def graph(self, X: Any, *, rng: Any = None, **options: Any) -> Any:
        """The graph alone: what ``BASELINES[name]`` calls."""
        if self.guess is not None:
            return load(self.guess)(X, rng=rng, **options)
        assert self.learn is not None
        return load(self.learn)(X, rng=rng, **options).graph

    def run(
        self,
        X: Any,
        *,
        seed: Any = None,
        threads: int | None = None,
        time_limit: float | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Fit:
        """Call the function; see :meth:`dagtune.methods.Method.run`. A plain guess has no time limit."""
        learn, X = self.load(), self.given(X)
        if self.learn is None:
            from dagtune.graph import as_matrix

            return Fit(as_matrix(learn(X, rng=seed, **options)))
        if "threads" in inspect.signature(learn).parameters:
            options["threads"] = threads
        learned = learn(X, rng=seed, time_limit=time_limit, progress=progress, **options)
        return Fit(learned.graph, cpdag=learned.cpdag, converged=learned.converged, notes=tuple(learned.notes))


def register_baseline(baseline: Baseline) -> Baseline:
    """Add a baseline: ``BASELINES``, ``dagtune compare`` and ``dagtune reproduce`` then know it.

    ``reproduce`` runs in child processes, which import the module of the function: register the baseline there.

    Parameters
    ----------
    baseline : Baseline

    Returns
    -------
    Baseline
        The same.

    Raises
    ------
    InputError
        If a method of that name is already registered.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.baselines import BASELINES, Baseline, register_baseline, run
    >>> def chain(X, rng=None):
    ...     return np.eye(np.shape(X)[1], k=1, dtype=bool)
    >>> added = register_baseline(Baseline(name="chain", guess=chain, seconds=0.0, random=False))
    >>> int(run("chain", np.eye(4)).sum())
    3
    >>> del BASELINES["chain"]
    """
    METHODS.register(baseline)
    return baseline


class _Functions(MutableMapping[str, Callable[..., Any]]):
    """Functions of the baselines by name. Setting one of a new name registers it; deleting takes it out again."""

    def __init__(self, field: str, *, external: bool) -> None:
        self._field, self._external = field, external

    def _entry(self, name: str) -> Baseline | None:
        found = METHODS.get(name)
        if not isinstance(found, Baseline) or found.external != self._external:
            return None
        return found if self._field == "guess" or found.learn is not None else None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        entry = self._entry(name)
        if entry is None:
            raise KeyError(name)
        if self._field == "learn":
            assert entry.learn is not None
            return load(entry.learn)
        return entry.graph if entry.guess is None else load(entry.guess)

    def __setitem__(self, name: str, function: Callable[..., Any]) -> None:
        entry = self._entry(name)
        changed: dict[str, Any] = {self._field: function}
        if entry is None:
            register_baseline(Baseline(name=name, external=self._external, **changed))
        else:
            METHODS.replace(replace(entry, **changed))

    def __delitem__(self, name: str) -> None:
        if self._entry(name) is None:
            raise KeyError(name)
        del METHODS[name]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in METHODS if self._entry(name) is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))


#: (data, rng=) -> boolean (d, d) DAG, by name; open to a user's own.
BASELINES: MutableMapping[str, Callable[..., np.ndarray]] = _Functions("guess", external=False)
#: (data, rng=, time_limit=, progress=, ...) -> Learned, for each baseline that has this richer call.
LEARNERS: MutableMapping[str, Callable[..., Learned]] = _Functions("learn", external=False)
#: The same for methods of packages that only the user can bring.
EXTERNAL: MutableMapping[str, Callable[..., Learned]] = _Functions("learn", external=True)


def run(name: str, X: Any, *, rng: Any = None) -> np.ndarray:
    """The DAG that a baseline learns from a table.

    Parameters
    ----------
    name : str
        A name from ``BASELINES`` or ``EXTERNAL``.
    X : array (n, d), DataFrame, or path of a table
    rng : int or numpy.random.Generator, optional
        Seed for all random draws.

    Returns
    -------
    boolean array (d, d)
        ``A[i, j]`` means ``i -> j``.

    Raises
    ------
    InputError
        If the name is unknown, or if the answer is no DAG of the table's columns.
    """
    import numpy as np

    from dagtune.graph import as_matrix, topological_order
    from dagtune.validation import InputError, check_choice

    entry = METHODS[check_choice("baseline", name, (*BASELINES, *EXTERNAL))]
    assert isinstance(entry, Baseline)
    guess = as_matrix(entry.graph(X, rng=rng))
    columns = np.shape(X)[1]
    if len(guess) != columns:
        raise InputError(f"baseline {name!r} gave a graph of {len(guess)} nodes for {columns} columns: correct it")
    topological_order(guess)
    return guess


def _ours(name: str, home: str, label: str, seconds: float, **more: Any) -> Baseline:
    """A baseline of this package: deterministic, and run by default, unless ``more`` says otherwise."""
    field = "guess" if home.startswith("chance:") else "learn"
    told: dict[str, Any] = {"random": False, "default": True, field: f"{__name__}.{home}"} | more
    return Baseline(name=name, label=label, seconds=seconds, **told)


def _theirs(name: str, function: str, module: str, package: str) -> Baseline:
    """A method of somebody else's package."""
    return Baseline(name=name, learn=f"{__name__}.adapters:{function}", external=True, needs=(module,), install=package)


for _baseline in (
    _ours("empty", "chance:empty", "empty graph", 0.0, chance=True),
    _ours(
        "random-complete",
        "chance:random_complete",
        "random complete DAG",
        0.0,
        chance=True,
        random=True,
        colour="#808890",
    ),
    _ours("variance-sorted", "chance:variance_sorted", "variance-sorted", 0.0, chance=True, colour="#56b4e9"),
    _ours(
        "notears-mlp",  # draws its start, but is too slow to be repeated on real data
        "notears_mlp:learn_notears_mlp",
        "NOTEARS-MLP",
        1600.0,
        stands_for="NOTEARS",
        colour="#0072b2",
    ),
    _ours("notears-linear", "notears:learn_notears_linear", "NOTEARS, linear", 17.0, stands_for="NOTEARS"),
    _ours("npvar", "npvar:learn_npvar", "NPVAR", 0.1, stands_for="NPVAR", colour="#009e73"),
    _ours("score", "score_matching:learn_score", "SCORE", 8.0, default=False),
    _ours("nogam", "score_matching:learn_nogam", "NoGAM", 900.0, default=False),
    _ours("cam", "cam:learn_cam", "CAM", 1.1, stands_for="CAM", colour="#cc79a7"),
    _ours("cam-r-defaults", "cam:learn_cam_r_defaults", "CAM, R defaults", 60.0, stands_for="CAM"),
    _ours("cam-no-selection", "cam:learn_cam_no_selection", "CAM, no selection", 60.0, default=False),
    _ours("ges", "ges:learn_ges", "GES", 1.2, stands_for="GES", colour="#b8860b"),
    _ours("sortnregress", "sorting:learn_sortnregress", "sortnregress", 0.2),
    _ours("r2-sortnregress", "sorting:learn_r2_sortnregress", "R²-sortnregress", 0.2),
    _ours("r2-sorted", "sorting:learn_r2_sorted", "R²-sorted", 0.02),
    _theirs("pc", "learn_pc", "causallearn", "causal-learn"),
    _theirs("grasp", "learn_grasp", "causallearn", "causal-learn"),
    _theirs("boss", "learn_boss", "causallearn", "causal-learn"),
    _theirs("direct-lingam", "learn_direct_lingam", "lingam", "lingam"),
    _theirs("resit", "learn_resit", "lingam", "lingam"),
    _theirs("dagma-linear", "learn_dagma_linear", "dagma", "dagma"),
):
    register_baseline(_baseline)

#: Methods that know nothing about causes; every table shows them beside the others.
CHANCE = tuple(method.name for method in METHODS.values() if method.chance)
