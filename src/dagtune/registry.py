"""One small idea for everything that can be added from outside the package: a name stands for one entry.

Kernels, learners and baselines are kept in a :class:`Registry`. The module is light: the command line reads registries
before anything heavy loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["Registry"]

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by name, in the order in which they were registered.

    Parameters
    ----------
    what : str
        What an entry is called in messages, such as "kernel".
    entries : iterable of entries, optional
        The first entries. Each has an attribute ``name``.

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

    def __init__(self, what: str, entries: Iterable[Entry] = ()) -> None:
        self.what = what
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

        return self._entries[check_choice(self.what, name, self._entries)]

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<registry of {len(self)} {self.what}s: {', '.join(self)}>"
