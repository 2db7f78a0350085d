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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import dagtune.baselines
from dagtune import methods
from dagtune.methods import Fit, Home, Method, Option, Reading
from dagtune.progress import Progress

__all__ = [
    "DEFAULT",
    "LEARNERS",
    "METHODS",
    "Learner",
    "offered",
    "options_by_name",
    "outside_modules",
    "readings",
    "register_learner",
]

#: What ``dagtune learn`` uses unless told otherwise.
DEFAULT = "conditional"

Kind = TypeVar("Kind", bound=Method)


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
        Whether ``result.scores`` rank every pair, so that experiments score the ranking too.

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
            Keywords of the estimator, over what this learner fixes. ``random_state``, ``threads``, ``time_limit`` and
            ``progress`` are left out where the estimator does not take them.

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
        droppable = ("knowledge", "random_state", "threads", "time_limit", "progress")
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
            scores=result.scores.to_numpy() if self.ranked else None,
            others={reading.name: as_matrix(reading.graph(result)) for reading in self.readings},
            phases=result.graphs,
            warnings=tuple(result.warnings),
        )


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
METHODS: Mapping[str, Method] = _Chosen(Learner, dagtune.baselines.Baseline)


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
    return sorted({method.module for method in METHODS.values() if not method.ours} - {"__main__"})


def readings() -> dict[str, tuple[Method, Reading]]:
    """Rows that are another graph of a method's fit, such as "conditional-order"."""
    return {f"{method.name}-{each.name}": (method, each) for method in METHODS.values() for each in method.readings}


def _word_or_number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


_OT_OPTIONS = (
    Option(
        "kernel",
        "gaussian, sigmoid, laplace, auto, ...",
        choices=("auto", "gaussian", "laplace", "rational-quadratic", "sigmoid"),
    ),
    Option("preset", "paper or released (the authors' script).", choices=("paper", "released")),
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
                "auto, equal, free, non-gaussian, ...",
                choices=("auto", "equal", "free", "non-gaussian", "post-nonlinear"),
            ),
            Option(
                "density",
                "sparse, balanced, dense, or a number.",
                choices=("sparse", "balanced", "dense"),
                read=_word_or_number,
            ),
            Option(
                "categorical",
                "columns of categories, causes only.",
                metavar="NAMES",
                type=list[str],
                panel="Data",
            ),
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
