"""scikit-learn estimators over the two learners: friendly outside, the same strict core inside."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from dagtune.bootstrap import ColumnStability, EdgeConfidence, Resampled, bootstrap, drop_columns, read_for
from dagtune.conditional.algorithm import conditional_tuning
from dagtune.knowledge import Knowledge
from dagtune.ot.algorithm import PRESETS, Rules, optimal_tuning, two_phases
from dagtune.result import Result
from dagtune.tables import MEMORY, Table, as_frame, may_stay_outside, unmasked
from dagtune.validation import InputError, check_choice

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
    #: Options that may differ when a fit goes on from a checkpoint.
    _harmless: tuple[str, ...] = ("progress", "threads", "time_limit", "checkpoint")

    def __new__(cls, *positional: Any, **options: Any) -> Self:
        """A learner; an option that only another learner has is refused with a word about that one."""
        own = inspect.signature(cls).parameters
        for name in options:
            others = [other.__name__ for other in _GraphLearner.__subclasses__() if name in _options_of(other)]
            if name not in own and others:
                raise InputError(f"{cls.__name__} knows no {name}: leave it out, or use {' or '.join(others)}")
        return super().__new__(cls)

    def _learn(self, table: Table) -> Result:
        raise NotImplementedError

    def _options_of(self, function: Callable[..., Any]) -> dict[str, Any]:
        """The parameters that a learning function takes; the others say how the table is read."""
        taken = inspect.signature(function).parameters
        given = {name: value for name, value in self.get_params(deep=False).items() if name in taken}
        return given | {"knowledge": self._known(), "sample_weight": None}  # the table has its weights

    def _known(self) -> Knowledge:
        """The knowledge, with the roots that were named apart."""
        given = self.get_params(deep=False)
        return Knowledge.of(given.get("knowledge")).with_roots(given.get("roots", ()))

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn the graph of the columns of a table.

        Parameters
        ----------
        X : array-like of shape (n, d), DataFrame, path or Table
            The data.
        y : None
            Ignored; scikit-learn passes it.
        groups : str or array of shape (n,), optional
            Where each row comes from, in place of the parameter ``groups``.
        sample_weight : str or array of shape (n,), optional
            How much each row counts, in place of the parameter ``sample_weight``.

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
        table = self._read(X, groups, sample_weight)
        if table.rows.store is not None:
            settings = self.get_params(deep=False).items()
            told = {name: value for name, value in settings if name not in self._harmless}
            table.rows.store.belongs_to("fit", learner=type(self).__name__, **told)
        self.result_ = self._learn(table)
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

    def drop_columns(
        self,
        X: Any,
        *,
        most: int = 30,
        n_jobs: int | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> ColumnStability:
        """Learn again without each column in turn, and see which edges keep their direction.

        Parameters
        ----------
        X : array-like of shape (n, d), DataFrame, path or Table
            The data, of at least three columns. The learner need not be fitted.
        most : int
            Leave out no more than so many columns, those with the most edges.
        n_jobs : int, optional
            Processes, as in joblib.
        progress : callable, optional
            Called as ``progress("without a column", share)`` after each fit.

        Returns
        -------
        ColumnStability
        """
        return drop_columns(self, X, most=most, n_jobs=n_jobs, progress=progress)

    def _repr_html_(self) -> str:
        """For notebooks: the learned graph, once there is one."""
        return self.result_._repr_html_() if hasattr(self, "result_") else estimator_html_repr(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """The same, where scikit-learn's own would come first."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

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

    def _read(self, X: Any, groups: Any = None, sample_weight: Any = None) -> Table:
        """The table to learn from; scikit-learn checks arrays first, as it does for all estimators."""
        by_row = {"groups": groups, "sample_weight": sample_weight}
        also = {name: given for name, given in by_row.items() if given is not None}
        if groups is not None and "groups" not in self.get_params(deep=False):
            raise InputError(f"{type(self).__name__} knows no groups: leave them out, or use ConditionalTuning")
        if isinstance(X, (Table, str, os.PathLike)) or may_stay_outside(X):
            table = read_for(self, X, **also)
            names = table.names
        elif (frame := as_frame(X)) is not None:
            table = read_for(self, frame, **also)
            names = tuple(map(str, frame.columns))
        else:
            least = {"ensure_min_samples": 2, "ensure_min_features": 2}
            X = validate_data(self, unmasked(X), dtype="numeric", ensure_all_finite=False, **least)
            names = tuple(f"x{j}" for j in range(X.shape[1]))
            table = read_for(self, X, **also)
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
        Required edges, forbidden edges, tiers, roots.
    roots : str or sequence of str
        Columns that have no causes, besides those that ``knowledge`` names.
    kinds : mapping of str to str, optional
        The kinds of columns that are no plain numbers, as in :class:`ConditionalTuning`; OT refuses categories.
    blocks : int or "auto", optional
        How many successive rows :meth:`bootstrap` draws together, for rows in the order of time, where each resembles
        the next; "auto" takes a number from how alike they are. The graph itself does not depend on it.
    engine : {"auto", "dense", "lowrank"}
        How HSIC is computed; see :func:`dagtune.measure_dependence`.
    sample_weight : str or array of shape (n,), optional
        How much each row counts: the name of a column, which is then no variable, or one number for each row, in any
        unit. The table counts as the rows that can be drawn in proportion to their weights with none drawn twice; see
        :mod:`dagtune.tables.weights`. Weights do not say that a row was seen several times: for that, repeat it.
    memory : str or int
        Memory that the engine may use, such as "1GiB"; a table that needs more is read in pieces, once for each pass.
    checkpoint : str or path, optional
        A folder in which a fit that reads its rows in pieces keeps its sums, so that a second start goes on from there.
    threads : int, optional
        By default one for each processor. The result does not depend on it.
    missing : {"error", "drop", "impute", "model"}
        What to do about missing values: refuse them, leave those rows out, fill in medians, or draw them from what the
        other columns tell, so that all rows stay; the graph is that of one such table.
    sep, decimal, encoding, na, header, query : optional
        How a file is written, where that is not what is found out; see :func:`dagtune.tables.read_table`.
    columns, drop : str or sequence of str, optional
        Which columns to use, and which to leave out.
    drop_constant : bool
        Leave constant columns out instead of refusing them.
    standardize : bool
        Scale the continuous columns to mean 0 and standard deviation 1.
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
        roots: str | Sequence[str] = (),
        kinds: Mapping[str, str | Sequence[str]] | None = None,
        sample_weight: Any = None,
        blocks: int | str | None = None,
        engine: str = "auto",
        memory: str | int = MEMORY,
        checkpoint: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        missing: str = "error",
        sep: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        na: str | Sequence[str] = (),
        header: bool | None = None,
        query: str | None = None,
        columns: str | Sequence[str] | None = None,
        drop: str | Sequence[str] = (),
        drop_constant: bool = False,
        standardize: bool = False,
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
        self.roots = roots
        self.kinds = kinds
        self.sample_weight = sample_weight
        self.blocks = blocks
        self.engine = engine
        self.memory = memory
        self.checkpoint = checkpoint
        self.threads = threads
        self.missing = missing
        self.sep = sep
        self.decimal = decimal
        self.encoding = encoding
        self.na = na
        self.header = header
        self.query = query
        self.columns = columns
        self.drop = drop
        self.drop_constant = drop_constant
        self.standardize = standardize
        self.solver_options = solver_options
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress

    def _learn(self, table: Table) -> Result:
        return optimal_tuning(table, rng=_as_rng(self.random_state), **self._options_of(optimal_tuning))

    def _relearner(self, table: Table) -> _Relearner | None:
        """Learns from counts of the table's rows, where the engine's features can be built once for all resamples."""
        sums_of_two = self.order == 2 and self.combine == "sum" and self.engine != "dense"
        if not sums_of_two or self.alpha is not None or (isinstance(self.kernel, str) and self.kernel == "auto"):
            return None
        settled = PRESETS[check_choice("preset", self.preset, PRESETS)]
        bandwidth = settled["bandwidth"] if self.bandwidth is None else self.bandwidth
        known = self._known().without_beliefs("OptimalTuning")
        required, forbidden = known.matrices(table.names)
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
    """One score, one posterior: the probability of every edge, over orders, parent sets, mechanisms and noise.

    Parameters
    ----------
    noise : {"auto", "equal", "free", "non-gaussian", "post-nonlinear"}
        Which models of the noise are averaged. "auto": all of them, and the result says what each variable looks like;
        "equal": Gaussian noise of one variance; "free": Gaussian noise of any variances, so nothing depends on the
        units of the columns; "non-gaussian": of any distribution; "post-nonlinear": of any distribution, on the
        effect's own or another scale. Only "auto" lets the spread of the noise vary with the causes.
    density : {"balanced", "sparse", "dense"} or float
        What a missing edge costs against an extra one; it decides which edges the graph has, not their probabilities.
        "sparse": an extra edge costs nine times as much as a missing one, so two variables are joined if that has a
        probability above 0.9. "balanced": they cost the same, above 0.5. "dense": a missing edge costs nine times as
        much, above 0.1; a missing edge spoils the effects of interventions, an extra one does not. A number is that
        least probability, from 1 (no edge) to 0 (the complete DAG). Of the two directions the likelier one is taken.
    knowledge : Knowledge, mapping or path, optional
        Required edges, forbidden edges, tiers, roots, and beliefs in edges.
    roots : str or sequence of str
        Columns that have no causes, besides those that ``knowledge`` names.
    bags : int
        Take the mean of the probabilities over so many resamples of the rows, drawn with replacement.

        .. deprecated:: 0.2
           ``result_.probability`` is there without it.
    kinds : mapping of str to str, optional
        The kinds of columns, where they are not what :func:`dagtune.tables.infer_kind` tells from the values:
        "continuous", "binary", "ordinal", "count", "categorical" or "date", or the levels of an ordinal column from low
        to high. Every kind can be a cause and an effect, and an effect has the likelihood of its kind.
    categorical : sequence of str
        Columns, of text or numbers, whose values are categories; short for ``kinds={name: "categorical"}``.
    merge : mapping of str to sequence of str, optional
        Columns of 0 and 1 of which no row has two, taken as one categorical column: ``{"site": ["north", "south"]}``.
    groups : str or array of shape (n,), optional
        Where each row comes from (a batch, a site, a subject): the name of a column, which is then no variable, or one
        label for each row. Rows of different groups share the graph and its functions, but neither levels nor, with
        ``noise="auto"``, the spread of the noise. In more than 20 groups numbers are taken less their group's mean.
    experiments : Experiments, mapping or path, optional
        The condition under which each row was taken, and what each condition acted on: ``{"column": "condition",
        "targets": {"pma": ["pkc"], "knock-out": {"raf": "set"}, "heat": "?"}}``; ``"rows": labels`` in place of a
        column. Rows in which a variable was set do not count in its own likelihood; where it was disturbed, its causes
        may act in another way; where it is not said how ("?"), or on what, the data say.
    sample_weight : str or array of shape (n,), optional
        How much each row counts: the name of a column, which is then no variable, or one number for each row, in any
        unit. The table counts as the rows that can be drawn in proportion to their weights with none drawn twice; see
        :mod:`dagtune.tables.weights`. Weights do not say that a row was seen several times: for that, repeat it.
    blocks : int or "auto", optional
        How many successive rows are drawn together when rows are resampled, for rows in the order of time, where each
        resembles the next; "auto" takes a number from how alike they are. Rows of more than 20 ``groups`` are drawn
        together by themselves, as subjects.
    memory : str or int
        Memory that reading may take, such as "1GiB"; a table that needs more is read in pieces, once for each pass.
    checkpoint : str or path, optional
        A folder in which a fit that reads its rows in pieces keeps its sums, so that a second start goes on from there.
    threads : int, optional
        By default one for each processor. The result does not depend on it.
    missing : {"error", "drop", "impute", "model"}
        What to do about missing values: refuse them, leave those rows out, fill in medians, or draw them from what the
        other columns tell, so that all rows stay; probabilities are then means over five such tables.
    sep, decimal, encoding, na, header, query : optional
        How a file is written, where that is not what is found out; see :func:`dagtune.tables.read_table`.
    columns, drop : str or sequence of str, optional
        Which columns to use, and which to leave out.
    drop_constant : bool
        Leave constant columns out instead of refusing them.
    standardize : bool
        Scale the continuous columns to mean 0 and standard deviation 1.
    time_limit : float, optional
        Seconds after which the fit gives up with a :class:`dagtune.progress.TimeLimitError`.
    random_state : int, Generator or RandomState, optional
        Seed of everything that is drawn: starts of the search, rows, orders, graphs.
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
        Phases, changes with their numbers, warnings, exports. ``probability`` is that of every edge if the model
        holds, ``track_record`` how often such directions were right on real tables, ``undecided`` the pairs whose
        direction is open, ``graphs`` a sample of DAGs; ``complete_dag`` is the complete DAG of the order, ``scores``
        ranks all edges, ``checks`` says for which variables the model fails.
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

    _harmless = (*_GraphLearner._harmless, "memory")  # no pass depends on it

    def __init__(
        self,
        *,
        noise: str = "auto",
        density: str | float = "balanced",
        knowledge: Any = None,
        roots: str | Sequence[str] = (),
        bags: int = 0,
        kinds: Mapping[str, str | Sequence[str]] | None = None,
        categorical: Sequence[str] = (),
        merge: Mapping[str, Sequence[str]] | None = None,
        groups: Any = None,
        experiments: Any = None,
        sample_weight: Any = None,
        blocks: int | str | None = None,
        memory: str | int = MEMORY,
        checkpoint: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        missing: str = "error",
        sep: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        na: str | Sequence[str] = (),
        header: bool | None = None,
        query: str | None = None,
        columns: str | Sequence[str] | None = None,
        drop: str | Sequence[str] = (),
        drop_constant: bool = False,
        standardize: bool = False,
        time_limit: float | None = None,
        random_state: Any = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        self.noise = noise
        self.density = density
        self.knowledge = knowledge
        self.roots = roots
        self.bags = bags
        self.kinds = kinds
        self.categorical = categorical
        self.merge = merge
        self.groups = groups
        self.experiments = experiments
        self.sample_weight = sample_weight
        self.blocks = blocks
        self.memory = memory
        self.checkpoint = checkpoint
        self.threads = threads
        self.missing = missing
        self.sep = sep
        self.decimal = decimal
        self.encoding = encoding
        self.na = na
        self.header = header
        self.query = query
        self.columns = columns
        self.drop = drop
        self.drop_constant = drop_constant
        self.standardize = standardize
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress

    def _learn(self, table: Table) -> Result:
        if isinstance(self.bags, (int, np.integer)) and self.bags > 0:
            warnings.warn(
                "bags is deprecated since 0.2: result_.probability is there without it, and bags only adds resamples "
                "of the rows; leave it out, or use bootstrap() to see how stable the edges are",
                FutureWarning,
                stacklevel=3,  # who called fit
            )
        return conditional_tuning(table, rng=_as_rng(self.random_state), **self._options_of(conditional_tuning))


@dataclass(frozen=True)
class _Relearner:
    """The two phases on a resample of known rows; a class, so that it can be sent to other processes."""

    resampled: Resampled
    rules: Rules

    def __call__(self, counts: np.ndarray, seed: int) -> np.ndarray:
        """Boolean (d, d) matrix learned from rows that occur ``counts`` times."""
        phases, _ = two_phases(self.resampled.dependence(counts), replace(self.rules, rng=seed))
        return phases["formalization"]


def _options_of(learner: type) -> set[str]:
    return set(inspect.signature(learner).parameters)


def _as_rng(random_state: Any) -> Any:
    """scikit-learn's legacy RandomState becomes a seed; numpy's own generators and seeds pass through."""
    return random_state.randint(2**31 - 1) if isinstance(random_state, np.random.RandomState) else random_state
