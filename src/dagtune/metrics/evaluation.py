"""All measures of one guess against one truth, in one object that prints as a small table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dagtune.metrics.edges import aupr, average_precision, f1, precision, recall, shd
from dagtune.metrics.intervention import sid
from dagtune.metrics.orders import order_divergence
from dagtune.metrics.pairs import read_pair, read_scores

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """Every measure by name; ``print`` shows a table. A measure that is undefined is nan (precision of an empty guess).

    Parameters
    ----------
    nodes, true_edges, guessed_edges : int
        Sizes of the two graphs.
    sid, shd, order_divergence : int
        Distances; 0 is best.
    aupr, average_precision, precision, recall, f1 : float
        Measures of directed edges; 1 is best.
    skeleton_precision, skeleton_recall, skeleton_f1 : float
        The same without directions.
    """

    nodes: int
    true_edges: int
    guessed_edges: int
    sid: int
    shd: int
    order_divergence: int
    aupr: float
    average_precision: float
    precision: float
    recall: float
    f1: float
    skeleton_precision: float
    skeleton_recall: float
    skeleton_f1: float

    def as_dict(self) -> dict[str, float]:
        """The measures as plain numbers by name, in the order of the table.

        Returns
        -------
        dict of str to float
        """
        return asdict(self)

    def __str__(self) -> str:
        pairs = self.nodes * (self.nodes - 1)
        empty = 0.5 + self.true_edges / (2 * self.nodes**2) if self.nodes else float("nan")
        lines = [
            f"{self.guessed_edges} edges guessed, {self.true_edges} true, {self.nodes} nodes",
            f"  {'SID':<18}{self.sid:>6}        of {pairs} effects; 0 is best",
            f"  {'SHD':<18}{self.shd:>6}        0 is best",
            f"  {'order divergence':<18}{self.order_divergence:>6}        of {self.true_edges} edges; 0 is best",
            f"  {'AuPR':<18}{_short(self.aupr):>6}        the empty graph gets {_short(empty)}",
            f"  {'average precision':<18}{_short(self.average_precision):>6}",
            f"  {'':<18}{'edges':>6}{'skeleton':>10}",
            f"  {'precision':<18}{_short(self.precision):>6}{_short(self.skeleton_precision):>10}",
            f"  {'recall':<18}{_short(self.recall):>6}{_short(self.skeleton_recall):>10}",
            f"  {'F1':<18}{_short(self.f1):>6}{_short(self.skeleton_f1):>10}",
        ]
        return "\n".join(lines)


def evaluate(
    truth: Any, guess: Any, *, scores: Any = None, cyclic: Literal["refuse", "parents"] = "refuse"
) -> Evaluation:
    """Compare a guess with the truth by every measure.

    Parameters
    ----------
    truth : array-like, DataFrame or networkx.DiGraph
        The true DAG.
    guess : array-like, DataFrame or networkx.DiGraph
        The guessed graph. Names are matched if both sides have them.
    scores : array-like or DataFrame, optional
        Edge scores of the method, which replace the 0/1 guess in AuPR and average precision.
    cyclic : {"refuse", "parents"}
        What to do with a cyclic guess; see :func:`~dagtune.metrics.sid`.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If the truth has a cycle, the graphs have different nodes, or the guess has a cycle and ``cyclic`` is "refuse".

    Examples
    --------
    >>> found = evaluate([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> found.shd, found.sid, found.precision
    (1, 1, 1.0)
    """
    true, guessed = read_pair(truth, guess)
    intervened = sid(truth, guess, cyclic=cyclic)  # from the graphs as given, so that an error can name the nodes
    ranked = guessed if scores is None else read_scores(truth, scores)[1]
    return Evaluation(
        nodes=len(true),
        true_edges=int(true.sum()),
        guessed_edges=int(guessed.sum()),
        sid=intervened,
        shd=shd(true, guessed),
        order_divergence=order_divergence(true, guessed),
        aupr=aupr(true, ranked),
        average_precision=average_precision(true, ranked),
        precision=precision(true, guessed),
        recall=recall(true, guessed),
        f1=f1(true, guessed),
        skeleton_precision=precision(true, guessed, skeleton=True),
        skeleton_recall=recall(true, guessed, skeleton=True),
        skeleton_f1=f1(true, guessed, skeleton=True),
    )


def _short(value: float) -> str:
    return "-" if value != value else f"{value:.2f}"
