"""scikit-learn estimators over the two learners: friendly outside, the same strict core inside."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dagtune.bootstrap import EdgeConfidence, Resampled, bootstrap, reading_of
from dagtune.conditional.algorithm import conditional_tuning
from dagtune.knowledge import Knowledge
from dagtune.ot.algorithm import PRESETS, Rules, optimal_tuning, two_phases
from dagtune.result import Result
from dagtune.tables import Table, as_frame, read_table, unmasked
from dagtune.validation import check_choice

__all__ = ["ConditionalTuning", "OptimalTuning"]


class _GraphLearner(BaseEstimator):
    """What all learners share: a table in, a DAG with names out.

    Fitted attributes: ``adjacency_matrix_`` (0/1 DataFrame, row causes column), ``causal_graph_`` (networkx DiGraph),
    ``causal_order_`` (names, causes first), ``result_`` (:class:`dagtune.result.Result`: phases, changes, why),
    ``feature_names_in_``, ``n_features_in_``.
    """

    adjacency_matrix_: pd.DataFrame
    causal_graph_: nx.DiGraph
    causal_order_: list[str]
    result_: Result
    feature_names_in_: np.ndarray
    n_features_in_: int

    def _learn(self, table: Table) -> Result:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the graph of the columns of a table.

        Parameters
        ----------
        X : array-like of shape (n, d), DataFrame, path or Table
            The data.
        y : None
            Ignored; scikit-learn passes it.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the table or a parameter can't be used.
        TimeLimitError
            If ``time_limit`` is over before the graph is there.
        """
        self.result_ = self._learn(self._read(X))
        self.adjacency_matrix_ = self.result_.to_frame()
        self.causal_graph_ = self.result_.to_networkx()
        self.causal_order_ = self.result_.causal_order
        return self

    def bootstrap(
        self,
        X: Any,
        n_samples: int = 100,
        *,
        n_jobs: int | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> EdgeConfidence:
        """Find out how often each edge is found again on rows drawn with replacement.

        Parameters
        ----------
        X : array-like of shape (n, d), DataFrame, path or Table
            The data. The learner need not be fitted.
        n_samples : int
            Number of resamples.
        n_jobs : int, optional
            Processes, as in joblib. The result does not depend on it.
        progress : callable, optional
            Called as ``progress("bootstrap", share)`` after each resample.

        Returns
        -------
        EdgeConfidence

        Raises
        ------
        InputError
            If the table or a parameter can't be used, or a column is constant in nearly every resample.

        Examples
        --------
        >>> import numpy as np
        >>> from dagtune import OptimalTuning
        >>> x = np.random.default_rng(0).normal(size=(100, 2))
        >>> confidence = OptimalTuning(random_state=0).bootstrap(np.column_stack([x, x.sum(axis=1)]), 5)
        >>> list(confidence.edges(at_least=0.8).columns)
        ['cause', 'effect', 'probability']
        """
        seed = getattr(self, "random_state", None)
        return bootstrap(self, X, n_samples, random_state=seed, n_jobs=n_jobs, progress=progress)

    def why(self, cause: str, effect: str) -> str:
        """Explain in a few sentences why ``cause -> effect`` is in the learned graph, or why it is not.

        Parameters
        ----------
        cause, effect : str
            Names of columns.

        Returns
        -------
        str

        Raises
        ------
        InputError
            If there is no such column.
        sklearn.exceptions.NotFittedError
            If the learner is not fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from dagtune import OptimalTuning
        >>> x = np.random.default_rng(0).normal(size=(100, 2))
        >>> learner = OptimalTuning().fit(np.column_stack([x, x.sum(axis=1)]))
        >>> "x0 -> x2" in learner.why("x0", "x2")
        True
        """
        check_is_fitted(self, "result_")
        return self.result_.why(cause, effect)

    def _read(self, X: Any) -> Table:
        """The table to learn from; scikit-learn checks arrays first, as it does for all estimators."""
        how = reading_of(self)
        if isinstance(X, (Table, str, os.PathLike)):
            table = read_table(X, **how)
            names = table.names
        elif (frame := as_frame(X)) is not None:
            table = read_table(frame, **how)
            names = tuple(map(str, frame.columns))
        else:
            options = {
                "dtype": "numeric",
                "ensure_all_finite": False,
                "ensure_min_samples": 2,
                "ensure_min_features": 2,
            }
            X = validate_data(self, unmasked(X), **options)
            names = tuple(f"x{j}" for j in range(X.shape[1]))
            table = read_table(X, **how)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return table


class OptimalTuning(_GraphLearner):
    """The OT algorithm: a skeleton from first order HSIC, tuned into a DAG by comparing first with second order.

    The optimal phase selects the pairs of columns that depend on each other. The tuning phase gives them directions: it
    deletes a cause whose sum with another says no more about the effect than one of them alone, adds pairs of causes
    whose sum says more than both, and breaks the cycles that are left at their weakest edge.

    Parameters
    ----------
    preset : {"paper", "released"}
        "paper" follows Section IV and Algorithm 1; "released" does what the authors' script does, and then breaks the
        cycles it leaves as in the paper.
    kernel : str, Kernel or callable
        A name in :data:`dagtune.KERNELS`, or "auto", which takes the kernel under which most sums of two columns say
        more than each.
    bandwidth : {"median", "paper", "unit"} or float, optional
        Bandwidth of the kernel; by default "median" for the preset "paper" and "unit" for "released".
    solver : {"exact", "gumbel", "released"}, optional
        How the skeleton is selected; by default "exact" for the preset "paper" and "released" for "released".
    penalty : float, optional
        What a pair of the skeleton costs, in units of HSIC. By default it is found from the data.
    n_pairs : int or float, optional
        How many pairs the skeleton has, or their share of all pairs, instead of a penalty.
    alpha : float, optional
        Instead: take the pairs whose independence is rejected at this level.
    deletion : {"min", "max"}
        Deletion rule as Algorithm 1 prints it, or as the running text has it.
    edge_score : {"max", "mean", "min"}
        What the other causes of an effect contribute to the strength of an edge when a cycle is broken.
    order : {2, 3}
        3 also compares sums of three columns.
    combine : {"sum", "joint"}
        HSIC of the effect with the sum of two causes (the paper), or with the pair.
    knowledge : Knowledge, mapping or path, optional
        Required edges, forbidden edges, tiers.
    engine : {"auto", "dense", "lowrank"}
        How HSIC is computed; see :func:`dagtune.measure_dependence`.
    memory : str or int
        Memory that the engine may use, such as "1GiB".
    threads : int, optional
        By default one for each processor. The result does not depend on it.
    drop_constant : bool
        Leave constant columns out instead of refusing them.
    solver_options : mapping, optional
        Keywords of the solver.
    time_limit : float, optional
        Seconds after which the fit gives up with a :class:`dagtune.progress.TimeLimitError`.
    random_state : int, Generator or RandomState, optional
        Seed of the Gumbel solvers; nothing else is random.
    progress : callable, optional
        Called as ``progress(phase, share)``. An exception that it raises ends the fit.

    Attributes
    ----------
    adjacency_matrix_ : DataFrame of 0 and 1
        The learned DAG with the names of the columns; the row causes the column.
    causal_graph_ : networkx.DiGraph
        The same as a graph.
    causal_order_ : list of str
        The columns, causes first.
    result_ : dagtune.Result
        Phases, changes with their numbers, warnings, exports.
    feature_names_in_ : ndarray of str
        The columns that were seen; ``n_features_in_`` is their number.

    References
    ----------
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC".

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import OptimalTuning
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=300)
    >>> b = np.tanh(a) + rng.normal(size=300)
    >>> c = np.tanh(a) + np.tanh(b) + rng.normal(size=300)
    >>> learner = OptimalTuning(kernel="sigmoid").fit(np.column_stack([a, b, c]))
    >>> learner.causal_order_
    ['x0', 'x1', 'x2']
    """

    def __init__(
        self,
        *,
        preset: str = "paper",
        kernel: Any = "gaussian",
        bandwidth: str | float | None = None,
        solver: str | None = None,
        penalty: float | None = None,
        n_pairs: int | float | None = None,
        alpha: float | None = None,
        deletion: str = "min",
        edge_score: str = "max",
        order: int = 2,
        combine: str = "sum",
        knowledge: Any = None,
        engine: str = "auto",
        memory: str | int = "1GiB",
        threads: int | None = None,
        drop_constant: bool = False,
        solver_options: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        self.preset = preset
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.solver = solver
        self.penalty = penalty
        self.n_pairs = n_pairs
        self.alpha = alpha
        self.deletion = deletion
        self.edge_score = edge_score
        self.order = order
        self.combine = combine
        self.knowledge = knowledge
        self.engine = engine
        self.memory = memory
        self.threads = threads
        self.drop_constant = drop_constant
        self.solver_options = solver_options
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress

    def _learn(self, table: Table) -> Result:
        options = self.get_params(deep=False)
        return optimal_tuning(table, rng=_as_rng(options.pop("random_state")), **options)

    def _relearner(self, table: Table) -> _Relearner | None:
        """Learns from counts of the table's rows, where the engine's features can be built once for all resamples."""
        sums_of_two = self.order == 2 and self.combine == "sum" and self.engine != "dense"
        if not sums_of_two or self.alpha is not None or (isinstance(self.kernel, str) and self.kernel == "auto"):
            return None
        settled = PRESETS[check_choice("preset", self.preset, PRESETS)]
        bandwidth = settled["bandwidth"] if self.bandwidth is None else self.bandwidth
        required, forbidden = Knowledge.of(self.knowledge).matrices(table.names)
        rules = Rules(
            required,
            forbidden,
            preset=self.preset,
            solver=settled["solver"] if self.solver is None else self.solver,
            penalty=self.penalty,
            n_pairs=self.n_pairs,
            deletion=self.deletion,
            edge_score=self.edge_score,
            solver_options=self.solver_options or {},
        )
        resampled = Resampled.of(table, kernel=self.kernel, bandwidth=bandwidth, memory=self.memory)
        return None if resampled is None else _Relearner(resampled, rules)


class ConditionalTuning(_GraphLearner):
    """Conditional incremental information: the order in which earlier explains later best, then parents within it.

    Parameters
    ----------
    noise : {"auto", "equal", "free", "non-gaussian", "post-nonlinear"}
        What is assumed about the noise. "auto" decides by the data and says so in the result; "equal": Gaussian noise
        of one variance; "free": Gaussian noise of any variances, so the graph does not depend on the units of the
        columns; "non-gaussian": of any distribution; "post-nonlinear": additive on another scale of the effect.
    density : {"sparse", "balanced", "dense"} or float
        Which edges are kept. "sparse": those that are more likely present than absent (best F1). "dense": all that may
        be present, because a missing edge spoils the effects of interventions and an extra one does not. "balanced":
        like "sparse" in sparse graphs, nearer to "dense" in dense ones. A number is the smallest probability of an
        edge, from 1 (no edge) to 0 (the complete DAG).
    knowledge : Knowledge, mapping or path, optional
        Required edges, forbidden edges, tiers.
    bags : int
        Also fit so many subsamples of 70 % of the rows, and report the mean of their edge probabilities.
    categorical : sequence of str
        Columns, of text or numbers, whose values are categories. Each stays one variable. They can only be causes, of
        numeric columns.
    threads : int, optional
        By default one for each processor. The result does not depend on it.
    drop_constant : bool
        Leave constant columns out instead of refusing them.
    time_limit : float, optional
        Seconds after which the fit gives up with a :class:`dagtune.progress.TimeLimitError`.
    random_state : int, Generator or RandomState, optional
        Seed of random starts, of the rows that joint regressions lean on, and of the subsamples.
    progress : callable, optional
        Called as ``progress(phase, share)``. An exception that it raises ends the fit.

    Attributes
    ----------
    adjacency_matrix_ : DataFrame of 0 and 1
        The learned DAG with the names of the columns; the row causes the column.
    causal_graph_ : networkx.DiGraph
        The same as a graph.
    causal_order_ : list of str
        The columns, causes first.
    result_ : dagtune.Result
        Phases, changes with their numbers, warnings, exports. ``complete_dag`` is the complete DAG of the order,
        ``scores`` ranks all edges, ``checks`` says for which variables the model fails.
    feature_names_in_ : ndarray of str
        The columns that were seen; ``n_features_in_`` is their number.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import ConditionalTuning
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=300)
    >>> b = np.tanh(2 * a) + rng.normal(size=300) / 2
    >>> c = a * b + rng.normal(size=300) / 2
    >>> learner = ConditionalTuning(random_state=0).fit(np.column_stack([c, b, a]))
    >>> learner.causal_order_
    ['x2', 'x1', 'x0']
    """

    def __init__(
        self,
        *,
        noise: str = "auto",
        density: str | float = "balanced",
        knowledge: Any = None,
        bags: int = 0,
        categorical: Sequence[str] = (),
        threads: int | None = None,
        drop_constant: bool = False,
        time_limit: float | None = None,
        random_state: Any = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        self.noise = noise
        self.density = density
        self.knowledge = knowledge
        self.bags = bags
        self.categorical = categorical
        self.threads = threads
        self.drop_constant = drop_constant
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress

    def _learn(self, table: Table) -> Result:
        options = self.get_params(deep=False)
        return conditional_tuning(table, rng=_as_rng(options.pop("random_state")), **options)


@dataclass(frozen=True)
class _Relearner:
    """The two phases on a resample of known rows; a class, so that it can be sent to other processes."""

    resampled: Resampled
    rules: Rules

    def __call__(self, counts: np.ndarray, seed: int) -> np.ndarray:
        """Boolean (d, d) matrix learned from rows that occur ``counts`` times."""
        phases, _ = two_phases(self.resampled.dependence(counts), replace(self.rules, rng=seed))
        return phases["formalization"]


def _as_rng(random_state: Any) -> Any:
    """scikit-learn's legacy RandomState becomes a seed; numpy's own generators and seeds pass through."""
    return random_state.randint(2**31 - 1) if isinstance(random_state, np.random.RandomState) else random_state
