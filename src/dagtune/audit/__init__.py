"""What is wrong with a table, before anyone learns from it.

Every finding has a stable code (docs/cli.md lists them), the columns it is about, what was seen, and a cure. Tests of
many columns share one small risk of a false alarm: a clean Gaussian table gives no finding.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from dagtune.audit.checks import CHECKS, about_names, about_sortability, sortability_of, summaries
from dagtune.audit.findings import CODES, Audit, Column, Finding
from dagtune.audit.look import Look, load

__all__ = ["CODES", "Audit", "Column", "Finding", "audit"]


def audit(
    table: Any,
    *,
    truth: Any = None,
    progress: Callable[[str, float], None] | None = None,
    **reading: Any,
) -> Audit:
    """Look for what is wrong with a table. Nothing in it is refused; it is reported.

    Parameters
    ----------
    table : array of shape (rows, columns), data frame, path, or Table
        Whatever :func:`dagtune.tables.read_table` takes, and tables that it would refuse.
    truth : graph, optional
        The true graph of the columns (``A[i, j]`` means ``i -> j``), to add the sortability of the data.
    progress : callable, optional
        Called as ``progress(phase, share done)``.
    **reading
        How to read a file, as :func:`dagtune.tables.read_table` takes it: ``sep``, ``decimal``, ``encoding``, ``na``,
        ``header``, ``query``; and ``columns`` or ``drop``, which columns to look at or to leave out.

    Returns
    -------
    Audit
        The findings, the most serious kinds first, and a summary of each column.

    Raises
    ------
    InputError
        If a file cannot be read at all, or ``truth`` does not fit the columns.

    References
    ----------
    Reisach, Seiler, Weichwald (2021): Beware of the simulated DAG! Causal discovery benchmarks may be easy to game.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.audit import audit
    >>> values = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = audit(np.column_stack([values, np.ones(100)]))
    >>> [finding.code for finding in found.findings]
    ['constant']
    """
    tell = progress or (lambda phase, share: None)
    source = str(table) if isinstance(table, (str, os.PathLike)) else ""
    frame, found, notes = load(table, progress=lambda share: tell("reading", share), reading=reading)
    look = Look(frame)
    found += about_names(look.names)
    told = {name for finding in found if finding.code == "non-numeric" for name in finding.columns}
    for done, check in enumerate(CHECKS):
        tell("auditing", done / len(CHECKS))
        found += [one for one in check(look) if one.code != "non-numeric" or not told & set(one.columns)]
    sortability = {} if truth is None else sortability_of(look, truth)
    found += about_sortability(sortability)
    tell("auditing", 1.0)
    order = list(CODES)
    found.sort(key=lambda finding: order.index(finding.code))  # stable: columns keep the order of the table
    return Audit(len(frame), summaries(look), tuple(found), source, sortability, tuple(notes))
