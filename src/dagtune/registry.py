"""One small idea for everything that can be added from outside the package: a name stands for one entry.

Kernels, learners and baselines are kept in a :class:`Registry`. The module is light: the command line reads registries
before anything heavy loads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Registry", "plug_ins", "tell_broken"]

Entry = TypeVar("Entry")


def plug_ins(group: str) -> list[EntryPoint]:
    """What installed packages offer under ``[project.entry-points."group"]``, by name.

    Parameters
    ----------
    group : str
        "dagtune.methods", "dagtune.kernels" or "dagtune.generators".

    Returns
    -------
    list of importlib.metadata.EntryPoint
        Nothing is imported yet.

    Examples
    --------
    >>> plug_ins("dagtune.nothing")
    []
    """
    from importlib.metadata import entry_points

    found = {entry.name: entry for entry in entry_points(group=group)}  # a package may be on the path twice
    return [found[name] for name in sorted(found)]


def tell_broken(entry: EntryPoint, why: object) -> None:
    """Warn that a plug-in is left out."""
    warnings.warn(f"the plug-in {entry.name!r} ({entry.value}) is left out: {why}", RuntimeWarning, stacklevel=3)


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by name, in the order in which they were registered.

    Parameters
    ----------
    what : str
        What an entry is called in messages, such as "kernel".
    entries : iterable of entries, optional
        The first entries. Each has an attribute ``name``.
    outside : callable, optional
        Gives what other packages offer. It is called once, when the registry is first read; a name that is taken is
        left out.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from typing import NamedTuple
    >>> class Unit(NamedTuple):
    ...     name: str
    ...     metres: Fraction
    >>> units = Registry("unit", [Unit("inch", Fraction(254, 10_000))])
    >>> units.register(Unit("foot", Fraction(3048, 10_000))).name
    'foot'
    >>> list(units)
    ['inch', 'foot']
    >>> units.find("fot")
    Traceback (most recent call last):
    dagtune.validation.InputError: unknown unit 'fot': choose one of 'inch', 'foot'; did you mean 'foot'?
    """

    def __init__(
        self, what: str, entries: Iterable[Entry] = (), outside: Callable[[], Iterable[Entry]] | None = None
    ) -> None:
        self.what = what
        self.outside = outside
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            self.register(entry)

    def register(self, entry: Entry) -> Entry:
        """Add an entry under its own name.

        Parameters
        ----------
        entry : object with an attribute ``name``

        Returns
        -------
        The entry, so that a module can keep it in a variable.

        Raises
        ------
        InputError
            If the name is already registered.
        """
        name: str = entry.name  # type: ignore[attr-defined]
        if name in self._entries:
            from dagtune.validation import InputError  # here, because numpy loads with it

            raise InputError(f"a {self.what} named {name!r} is already registered: choose another name")
        self._entries[name] = entry
        return entry

    def replace(self, entry: Entry) -> None:
        """Put ``entry`` in the place of the one with its name, or at the end if there is none."""
        self._entries[entry.name] = entry  # type: ignore[attr-defined]

    def find(self, name: str) -> Entry:
        """The entry of that name. For an unknown name an :class:`InputError` lists all, and guesses the one meant."""
        from dagtune.validation import check_choice  # here, because numpy loads with it

        return self._all()[check_choice(self.what, name, self._all())]

    def _all(self) -> dict[str, Entry]:
        """The entries, with those of other packages."""
        if self.outside is not None:
            outside, self.outside = self.outside, None
            for entry in outside():
                name: str = entry.name  # type: ignore[attr-defined]
                if name in self._entries:
                    text = f"another package offers a {self.what} named {name!r}, which is taken: it is left out"
                    warnings.warn(text, RuntimeWarning, stacklevel=4)
                self._entries.setdefault(name, entry)
        return self._entries

    def __getitem__(self, name: str) -> Entry:
        return self._all()[name]

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"<registry of {len(self)} {self.what}s: {', '.join(self)}>"
