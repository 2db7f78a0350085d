"""One self-contained HTML file: the page's own style and script, and the data as JSON that nothing executes.

The page may load nothing and run nothing but its own script (a content security policy with the script's hash says so
to the browser), and the script sets text only as text. So a column name can't become markup or code.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from dagtune.files import write_whole
from dagtune.report.content import page_content
from dagtune.result import Result
from dagtune.text import shown

__all__ = ["write_report"]

#: What JSON must not hold inside a script element: the first could end it, the others read as markup to some tools.
_RISKY = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def write_report(
    path: str | os.PathLike[str],
    result: Result,
    *,
    data: Any = None,
    dependence: Any = None,
    confidence: Any = None,
    audit: Any = None,
    truth: Any = None,
    title: str = "",
    command: str = "",
) -> Path:
    """Write one HTML page about a learned graph. It needs no other file and no network.

    Parameters
    ----------
    path : path
        The file to write. An existing one is replaced only when the new one is complete.
    result : Result
        The learned graph.
    data : DataFrame, Table, array-like or path, optional
        The table it was learned from; the page shows the distribution of each column, but no rows. Not needed right
        after a fit.
    dependence : Dependence, optional
        Numbers of the heat map; by default those of the first phase.
    confidence : EdgeConfidence, optional
        From the bootstrap.
    audit : Audit, optional
        From :func:`dagtune.audit.audit`.
    truth : array-like, DataFrame or networkx.DiGraph, optional
        The true graph: edges are marked right or wrong, and the graph is scored next to chance.
    title, command : str
        Title of the page, and the command line that led to it.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the data, the dependence or the truth have other columns than the result.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import OptimalTuning
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> result = OptimalTuning().fit(np.column_stack([x, x.sum(axis=1)])).result_
    >>> write_report("report.html", result).name
    'report.html'
    """
    content = page_content(
        result,
        data=data,
        dependence=dependence,
        confidence=confidence,
        audit=audit,
        truth=truth,
        title=title,
        command=command,
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(path, _page(content, result))


def _page(content: dict[str, Any], result: Result) -> str:
    """The template with all placeholders filled."""
    template, style, script = (_part(name) for name in ("page.html", "page.css", "page.js"))
    pieces = {
        "TITLE": html.escape(shown(content["title"])),
        "POLICY": (
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        ),
        "STYLE": style,
        "SCRIPT": script,
        "EDGES": "".join(
            f"<li>{html.escape(content['names'][i])} \N{RIGHTWARDS ARROW} {html.escape(content['names'][j])}</li>"
            for i, j in np.argwhere(result.matrix)
        ),
        "DATA": _json(content),
    }
    before, *rest = template.split("{{")
    page = [before]
    for chunk in rest:  # one pass: a placeholder inside a column name stays what it is
        key, after = chunk.split("}}", 1)
        page += [pieces[key], after]
    return "".join(page)


def _json(content: Any) -> str:
    """ASCII JSON that is safe inside a script element; not-a-number is refused, not written."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_RISKY)


def _hash(text: str) -> str:
    """What a content security policy calls an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _part(name: str) -> str:
    return resources.files("dagtune.report").joinpath(name).read_text(encoding="utf-8")
