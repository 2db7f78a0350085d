"""What a method is: the entry that learners and baselines share, and the one registry that holds them all.

:mod:`dagtune.learners` and :mod:`dagtune.baselines` register their entries here. The command line, ``compare``, the
experiments and their reports read nothing but these entries. The module is light: what computes loads when it is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dagtune.progress import Progress
from dagtune.registry import Registry

if TYPE_CHECKING:
    import numpy as np

__all__ = ["METHODS", "Fit", "Home", "Method", "Option", "Reading", "load", "module_of"]

#: A function or class, or where it is: "package.module:name".
Home = str | Callable[..., Any]


def load(home: Home) -> Any:
    """The function or class at ``home``."""
    if not isinstance(home, str):
        return home
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def module_of(home: Home) -> str:
    """Name of the module that holds the function or class, without loading it."""
    return home.partition(":")[0] if isinstance(home, str) else home.__module__ or "__main__"


@dataclass(frozen=True)
class Option:
    """One option of a method, for the command line: ``dagtune learn`` offers it, completes it and explains it.

    An option that is not typed is not passed on, so the method's own default holds.

    Parameters
    ----------
    name : str
        Keyword of the method; the command line writes ``noise_scale`` as ``--noise-scale``.
    help : str
        What it does, in a few words.
    choices : tuple of str
        What the shell completes. The method itself judges values, so it may accept others.
    metavar : str
        What the help shows in place of a value.
    type : type
        What the command line takes: ``str``, ``int``, ``float``, ``bool`` or ``list[str]``.
    read : callable, optional
        Turns what was typed into what the method takes.
    panel : str
        Heading in the help above the option.
    rare : bool
        Whether the help only names it, beside the method, because few need it.
    """

    name: str
    help: str
    choices: tuple[str, ...] = ()
    metavar: str = "WORD"
    type: Any = str
    read: Callable[[Any], Any] | None = None
    panel: str = "Method"
    rare: bool = False

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class Reading:
    """Another graph of the same fit that experiments score too, in a row of its own.

    Parameters
    ----------
    name : str
        Follows the method's name: the row "conditional-order" is the reading "order" of "conditional".
    label : str
        What a reader calls it.
    graph : callable
        Takes the :class:`dagtune.Result` and gives a graph.
    """

    name: str
    label: str
    graph: Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Fit:
    """What a method found on one table; ``A[i, j]`` true means ``i -> j`` in every matrix.

    Parameters
    ----------
    graph : boolean array (d, d)
    scores : array (d, d), optional
        A number for every ordered pair, high where an edge is likely.
    others : mapping of str to boolean array (d, d)
        Other graphs of the same fit, by the name of the :class:`Reading`.
    phases : mapping of str to boolean array (d, d)
        The graph after each phase.
    cpdag : boolean array (d, d), optional
        The equivalence class, where the method learns one.
    converged : bool
        False when an iteration stopped at its limit.
    notes : tuple of str
        What a reader should know about the run.
    warnings : tuple of str
        What the data say against the method's assumptions.
    """

    graph: np.ndarray
    scores: np.ndarray | None = None
    others: Mapping[str, np.ndarray] = field(default_factory=dict)
    phases: Mapping[str, np.ndarray] = field(default_factory=dict)
    cpdag: np.ndarray | None = None
    converged: bool = True
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to learn a graph, and everything the rest of the program needs to know about it.

    Use :class:`dagtune.learners.Learner` for an estimator, and :class:`dagtune.baselines.Baseline` for a function.

    Parameters
    ----------
    name : str
        What one types.
    label : str
        What a reader calls it in tables; the name if not given.
    about : str
        A few words for the help.
    options : tuple of Option
        What the command line offers.
    settings : mapping
        Options that this method fixes; experiments store them.
    variant_of : str
        The method that gives the same with its options set. A variant has its own row in experiments and comparisons.
    seconds : float
        Processor seconds at 40 columns and 1600 rows. They order the cells of a run and tell the time left.
    random : bool
        Whether it draws random numbers. On real data, which are one table, only a random method is repeated.
    stands_for : str, optional
        The published method it reproduces.
    default : bool
        Whether ``dagtune reproduce`` runs it unless methods are named.
    chance : bool
        Whether it knows nothing about causes. Every table shows it, and it has no vote.
    needs : tuple of str
        Modules beyond those that dagtune requires.
    install : str
        What ``pip install`` is told to get them.
    colour : str
        Colour in the figure of the reproduction; a method without one is not drawn.
    readings : tuple of Reading
        Other graphs of the same fit.
    """

    name: str
    label: str = ""
    about: str = ""
    options: tuple[Option, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    variant_of: str = ""
    seconds: float = 100.0
    random: bool = True
    stands_for: str | None = None
    default: bool = False
    chance: bool = False
    needs: tuple[str, ...] = ()
    install: str = ""
    colour: str = ""
    readings: tuple[Reading, ...] = ()

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name)

    @property
    def family(self) -> str:
        """The method itself, or the one it is a variant of."""
        return self.variant_of or self.name

    @property
    def available(self) -> bool:
        """Whether everything it needs is installed."""
        return all(find_spec(module) is not None for module in self.needs)

    @property
    def takes_categories(self) -> bool:
        """Whether columns of categories mean something to it; chance does not look at them."""
        return self.chance or any(option.name == "categorical" for option in self.options)

    @property
    def home(self) -> Home:
        """The function or class that computes."""
        raise NotImplementedError

    @property
    def module(self) -> str:
        """The module to import where the method is not known yet, as in a child process."""
        return module_of(self.home)

    def load(self) -> Any:
        """The function or class that computes, with everything it imports."""
        return load(self.home)

    @property
    def ours(self) -> bool:
        """Whether it belongs to this package."""
        return self.module.partition(".")[0] == "dagtune"

    def given(self, X: Any) -> Any:
        """The data as the method takes them: a :class:`dagtune.tables.Table` is for our own, others get its frame."""
        from dagtune.tables import Table  # here, because pandas loads with it

        return X.to_frame() if isinstance(X, Table) and not self.ours else X

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
        """Learn a graph from a table.

        Parameters
        ----------
        X : array (n, d), DataFrame, or path of a table
        seed : int or numpy.random.Generator, optional
            Seed for all random draws.
        threads : int, optional
            How many the method may use, if it can use several.
        time_limit : float, optional
            Seconds after which the method gives up with a :class:`dagtune.progress.TimeLimitError`.
        progress : callable, optional
            Called by a learner as ``progress(phase, share done)``.
        **options
            The method's own.

        Returns
        -------
        Fit
        """
        raise NotImplementedError


#: Every method by name, as registered; :data:`dagtune.learners.METHODS` has them in the order of tables.
METHODS: Registry[Method] = Registry("method")
