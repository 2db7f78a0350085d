"""The learners in one table: name, estimator, options, cost. Adding a learner or an option of one touches this module.

The command line, ``compare``, the experiments, completion and the docs read :data:`LEARNERS` and :data:`METHODS`, which
holds the baselines too. Estimators load when they are needed, so that ``dagtune learn --help`` stays quick.

>>> from dagtune.learners import LEARNERS, METHODS
>>> sorted(LEARNERS)
['conditional', 'ot', 'ot-released']
>>> METHODS["cam"].label
'CAM'
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import dagtune.baselines
from dagtune import methods
from dagtune.methods import Fit, Home, Method, Option, Reading
from dagtune.progress import Progress
from dagtune.registry import plug_ins

__all__ = [
    "DEFAULT",
    "LEARNERS",
    "METHODS",
    "Learner",
    "PlugIn",
    "method",
    "offered",
    "options_by_name",
    "outside_modules",
    "read_kinds",
    "readings",
    "register_learner",
]

#: What ``dagtune learn`` uses unless told otherwise.
DEFAULT = "conditional"

Kind = TypeVar("Kind", bound=Method)
Thing = TypeVar("Thing")


@dataclass(frozen=True, kw_only=True)
class Learner(Method):
    """A learner: an estimator in the manner of scikit-learn whose fit has a :class:`dagtune.Result`.

    Parameters
    ----------
    estimator : class, or str "package.module:name"
        Keywords to make it, then ``fit(X)`` and the attribute ``result_``. It is given ``random_state``, ``threads``,
        ``progress`` and ``knowledge`` as far as it takes them.
    result_name : str
        What ``result.settings["learner"]`` says. A report then shows Python that fits the learner again.
    ranked : bool
        Whether ``result.scores`` rank every pair, so that experiments score the ranking too. Probabilities always do.

    The other parameters are those of :class:`dagtune.methods.Method`.
    """

    estimator: Home
    result_name: str = ""
    ranked: bool = False

    @property
    def home(self) -> Home:
        return self.estimator

    def make(self, *, knowledge: Any = None, **options: Any) -> Any:
        """The estimator, not fitted yet.

        Parameters
        ----------
        knowledge : Knowledge, mapping or path, optional
        **options
            Keywords of the estimator, over what this learner fixes. ``random_state``, ``threads``, ``time_limit``,
            ``progress``, ``memory`` and ``checkpoint`` are left out where the estimator does not take them.

        Raises
        ------
        InputError
            If there is prior knowledge and the estimator takes none.
        """
        kind = self.load()
        taken = inspect.signature(kind).parameters
        if knowledge and "knowledge" not in taken:
            from dagtune.validation import InputError

            raise InputError(f"{self.name} takes no prior knowledge: leave it out, or choose another method")
        given = {"knowledge": knowledge, **self.settings, **options}
        droppable = ("knowledge", "random_state", "threads", "time_limit", "progress", "memory", "checkpoint")
        return kind(**{name: value for name, value in given.items() if name in taken or name not in droppable})

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
        """Fit the estimator to ``X``; see :meth:`dagtune.methods.Method.run`."""
        from dagtune.graph import as_matrix

        made = self.make(random_state=seed, threads=threads, time_limit=time_limit, progress=progress, **options)
        result = made.fit(self.given(X)).result_
        return Fit(
            result.matrix,
            scores=result.scores.to_numpy() if self.ranked or result.probability is not None else None,
            others={reading.name: as_matrix(reading.graph(result)) for reading in self.readings},
            phases=result.history,
            warnings=tuple(result.warnings),
        )


@dataclass(frozen=True, kw_only=True)
class PlugIn(Method):
    """A method as somebody brings it: a function, an estimator, or an entry for our table; it loads when it is run.

    Parameters
    ----------
    thing : callable, class, Method, or str "package.module:name"
        A function ``f(X)`` of a DataFrame, which gives a DAG (an array, a DataFrame, a networkx graph) and may take
        ``rng``, ``threads``, ``time_limit`` and ``progress``; or a class whose ``fit(X)`` leaves ``result_`` or
        ``adjacency_matrix_``; or a :class:`Learner` or :class:`dagtune.baselines.Baseline`.
    found : bool
        Whether it comes from an entry point of an installed package; a child process then finds it by itself.

    The other parameters are those of :class:`dagtune.methods.Method`.
    """

    thing: Any
    found: bool = False

    @property
    def home(self) -> Home:
        return self.thing.home if isinstance(self.thing, Method) else self.thing

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
        """Call what was brought; see :meth:`dagtune.methods.Method.run`."""
        thing, given = self.load(), {"threads": threads, "time_limit": time_limit, "progress": progress, **options}
        if isinstance(thing, Method):
            found = thing.run(X, seed=seed, **given)
        else:
            X = self.given(X)
            if inspect.isclass(thing):
                thing, given = _fitted(thing), {"random_state": seed, **given}
            else:
                given = {"rng": seed, **given}
            taken = inspect.signature(thing).parameters
            found = _as_fit(
                thing(X, **{name: value for name, value in given.items() if name in taken or name in options})
            )
        _refuse_other_graphs(self.name, found.graph, X)
        return found


def _fitted(kind: Any) -> Any:
    """A function that fits an estimator, with the signature of the estimator."""

    def fit(X: Any, **options: Any) -> Any:
        learner = kind(**options).fit(X)
        return getattr(learner, "result_", None) or learner.adjacency_matrix_

    fit.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
    return fit


def _as_fit(answer: Any) -> Fit:
    """What a function of somebody else's gave: a graph, or something that has one."""
    from dagtune.graph import as_matrix

    if isinstance(answer, Fit):
        return answer
    notes = tuple(getattr(answer, "notes", ()))
    graph = getattr(answer, "matrix", None)  # a Result
    graph = getattr(answer, "graph", None) if graph is None else graph  # a Learned; networkx keeps a dict there
    return Fit(as_matrix(answer if graph is None or isinstance(graph, dict) else graph), notes=notes)


def _refuse_other_graphs(name: str, graph: Any, X: Any) -> None:
    """Refuse an answer that is no DAG of the table's columns."""
    from dagtune.graph import find_cycle
    from dagtune.validation import InputError

    width = X.width if hasattr(X, "width") else X.shape[1]
    if len(graph) != width:
        raise InputError(f"{name} gave a graph of {len(graph)} nodes for {width} columns: correct the method")
    if find_cycle(graph) is not None:
        raise InputError(f"{name} gave a graph with a cycle: correct the method")


class _Chosen(Mapping[str, Kind], Generic[Kind]):
    """The registered methods of some kinds, one kind after the other."""

    def __init__(self, *kinds: type[Kind]) -> None:
        self._kinds = kinds

    def __getitem__(self, name: str) -> Kind:
        found = methods.METHODS[name]
        if not isinstance(found, self._kinds):
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        everything = methods.METHODS.values()
        return iter([method.name for kind in self._kinds for method in everything if isinstance(method, kind)])

    def __len__(self) -> int:
        return len(list(iter(self)))


#: The learners by name.
LEARNERS: Mapping[str, Learner] = _Chosen(Learner)
#: All methods by name, learners first: the order in which tables show them.
METHODS: Mapping[str, Method] = _Chosen(Learner, dagtune.baselines.Baseline, PlugIn)


def _installed() -> Iterator[Method]:
    """Methods of other packages, from entry points of the group "dagtune.methods"; nothing of them is imported yet."""
    for entry in plug_ins("dagtune.methods"):
        yield PlugIn(name=entry.name, thing=entry.value, found=True, about=f"from {entry.module.partition('.')[0]}")


methods.METHODS.outside = _installed


def method(name: str, **about: Any) -> Callable[[Thing], Thing]:
    """Decorator that makes a function or an estimator a method: ``dagtune compare`` and ``reproduce`` then know it.

    They run it in a process of its own, which imports the module of the function. A package that is installed offers
    its method by an entry point instead, and need not be imported: ``[project.entry-points."dagtune.methods"]``.

    Parameters
    ----------
    name : str
        What one types.
    **about
        Other fields of :class:`dagtune.methods.Method`, such as ``label``, ``seconds`` or ``random``.

    Returns
    -------
    callable
        Decorator for what :class:`PlugIn` takes; it gives the function or class back.

    Raises
    ------
    InputError
        If a method of that name is already registered.

    Examples
    --------
    >>> import numpy as np
    >>> import dagtune
    >>> @dagtune.method("by-mean")
    ... def by_mean(X):
    ...     return dagtune.graph.complete(np.argsort(X.mean()))
    >>> dagtune.learners.METHODS["by-mean"].run(dagtune.datasets.load("sachs").X).graph.sum()
    np.int64(55)
    >>> del dagtune.methods.METHODS["by-mean"]
    """

    def register(thing: Thing) -> Thing:
        methods.METHODS.register(PlugIn(name=name, thing=thing, **about))
        return thing

    return register


def register_learner(learner: Learner) -> Learner:
    """Add a learner: ``dagtune learn``, ``compare`` and ``reproduce`` then know it, with its options.

    ``reproduce`` runs in child processes, which import the module of the estimator: register the learner there.

    Parameters
    ----------
    learner : Learner

    Returns
    -------
    Learner
        The same.

    Raises
    ------
    InputError
        If a method of that name is already registered.

    Examples
    --------
    >>> import dagtune
    >>> from dagtune.learners import LEARNERS, Learner, register_learner
    >>> mine = register_learner(Learner(name="ot-sigmoid", estimator="dagtune:OptimalTuning", variant_of="ot",
    ...                                 settings={"kernel": "sigmoid"}))
    >>> "ot-sigmoid" in LEARNERS
    True
    >>> del dagtune.methods.METHODS["ot-sigmoid"]
    """
    methods.METHODS.register(learner)
    return learner


def offered() -> dict[str, Learner]:
    """What ``dagtune learn --method`` offers: every learner but variants, which its options reach."""
    return {name: LEARNERS[name] for name in sorted(LEARNERS) if not LEARNERS[name].variant_of}


def options_by_name() -> dict[str, tuple[Option, list[str]]]:
    """Each option of the learners that are offered, as the first declares it, and the learners that have it."""
    found: dict[str, tuple[Option, list[str]]] = {}
    for learner in offered().values():
        for option in learner.options:
            found.setdefault(option.name, (option, []))[1].append(learner.name)
    return found


def outside_modules() -> list[str]:
    """Modules outside this package that hold registered methods; a child process imports them to know the methods."""
    outside = [method for method in METHODS.values() if not method.ours]
    return sorted({method.module for method in outside if not getattr(method, "found", False)} - {"__main__"})


def readings() -> dict[str, tuple[Method, Reading]]:
    """Rows that are another graph of a method's fit, such as "conditional-order"."""
    return {f"{method.name}-{each.name}": (method, each) for method in METHODS.values() for each in method.readings}


def _word_or_number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _count_or_share(number: float) -> int | float:
    """12.0 is a count, 0.3 a share."""
    return int(number) if number >= 1 and number == int(number) else number


def _named_numbers(texts: list[str]) -> dict[str, int | float | str]:
    """Options of a solver from "steps=500,rate=0.1"."""
    from dagtune.validation import InputError

    found: dict[str, int | float | str] = {}
    for part in (part for text in texts for part in text.split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value:
            raise InputError(f"--solver-options takes a name and a value, such as steps=500, not {part!r}")
        number = _word_or_number(value)
        found[name] = int(number) if isinstance(number, float) and value.lstrip("+-").isdigit() else number
    return found


def read_kinds(texts: list[str]) -> dict[str, str | list[str]]:
    """Kinds of columns from "visits=count,size=small<middle<large"."""
    from dagtune.validation import InputError

    found: dict[str, str | list[str]] = {}
    # a comma with no equals sign before it belongs to a name
    for part in (part for text in texts for part in re.findall(r"[^=]*=[^,]*|[^=]+$", text) or [text]):
        name, equals, kind = part.lstrip(",").rpartition("=")
        if not equals or not name.strip() or not kind.strip():
            raise InputError(
                f"--kinds takes a column and its kind, such as visits=count or size=small<middle<large, not {part!r}: "
                'put the kind after "="'
            )
        levels = [level.strip() for level in kind.split("<")]
        found[name.strip()] = levels if len(levels) > 1 else levels[0]
    return found


def _merged(texts: list[str]) -> dict[str, list[str]]:
    """Groups of indicators from "site=north,south"; several are typed one after the other."""
    from dagtune.validation import InputError

    found: dict[str, list[str]] = {}
    for text in texts:
        new, equals, names = text.partition("=")
        if not equals or not new.strip() or "," not in names:
            raise InputError(f"--merge takes a new name and columns of 0 and 1, such as site=north,south, not {text!r}")
        found[new.strip()] = [name.strip() for name in names.split(",")]
    return found


_KINDS = Option(
    "kinds", "visits=count, size=s<m<l, ...", metavar="NAME=KIND", type=list[str], read=read_kinds, panel="Data"
)
_WEIGHT = Option("sample_weight", "Column that says how much each row counts.", metavar="NAME", panel="Data")
_BLOCKS = Option("blocks", "Rows drawn together.", metavar="N|auto", read=_word_or_number, panel="Data", rare=True)
_OT_OPTIONS = (
    _KINDS,
    _WEIGHT,
    _BLOCKS,
    Option(
        "kernel",
        "gaussian, sigmoid, laplace, auto, ...",
        choices=("auto", "gaussian", "laplace", "rational-quadratic", "sigmoid"),
    ),
    Option("preset", "paper or released (the authors' script).", choices=("paper", "released")),
    Option(
        "bandwidth", "median, paper, unit, or a number.", ("median", "paper", "unit"), read=_word_or_number, rare=True
    ),
    Option("solver", "exact, gumbel or released.", choices=("exact", "gumbel", "released"), rare=True),
    Option("penalty", "what a pair costs, in HSIC.", metavar="X", type=float, rare=True),
    Option("n_pairs", "number or share of pairs.", metavar="N", type=float, read=_count_or_share, rare=True),
    Option("alpha", "level of the independence tests.", metavar="X", type=float, rare=True),
    Option("deletion", "min or max.", choices=("min", "max"), rare=True),
    Option("edge_score", "max, mean or min.", choices=("max", "mean", "min"), rare=True),
    Option("order", "2, or 3 for sums of three columns.", metavar="N", type=int, rare=True),
    Option("combine", "sum or joint.", choices=("sum", "joint"), rare=True),
    Option("engine", "auto, dense or lowrank.", choices=("auto", "dense", "lowrank"), rare=True),
    Option("solver_options", "steps=500, ...", metavar="NAME=X", type=list[str], read=_named_numbers, rare=True),
)

for _learner in (
    Learner(
        name="ot",
        label="OT",
        about="the paper's",
        estimator="dagtune:OptimalTuning",
        result_name="optimal-tuning",
        options=_OT_OPTIONS,
        settings=MappingProxyType({"preset": "paper"}),
        seconds=1.5,
        random=False,
        stands_for="OT",
        default=True,
        colour="#d55e00",
    ),
    Learner(
        name="ot-released",
        label="OT, released preset",
        estimator="dagtune:OptimalTuning",
        settings=MappingProxyType({"preset": "released"}),
        variant_of="ot",
        seconds=110.0,
        stands_for="OT",
        default=True,
        needs=("jax", "optax"),
        install="'dagtune[baselines]'",
    ),
    Learner(
        name="conditional",
        estimator="dagtune:ConditionalTuning",
        result_name="conditional-tuning",
        options=(
            Option(
                "noise",
                "auto, equal, free, non-gaussian, post-nonlinear.",
                choices=("auto", "equal", "free", "non-gaussian", "post-nonlinear"),
            ),
            Option(
                "density",
                "sparse, balanced, dense, or a number.",
                choices=("sparse", "balanced", "dense"),
                read=_word_or_number,
            ),
            _KINDS,
            Option("categorical", "Columns of categories.", metavar="NAMES", type=list[str], panel="Data"),
            Option(
                "merge",
                "Indicators as one: site=north,south.",
                metavar="NAME=NAMES",
                type=list[str],
                read=_merged,
                panel="Data",
            ),
            Option("groups", "Column that names each row's group.", metavar="NAME", panel="Data"),
            Option("experiments", "What was done to rows: .toml or .json.", metavar="FILE", panel="Data"),
            _WEIGHT,
            _BLOCKS,
        ),
        seconds=8.0,
        default=True,
        ranked=True,  # experiments score result.scores as well
        # From the same fit, because it is the order that takes the time.
        readings=(Reading("order", "complete DAG of its order", lambda result: result.complete_dag),),
        colour="#7f3fbf",
    ),
):
    register_learner(_learner)
