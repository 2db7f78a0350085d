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
    """Write an HTML page about ``result`` to ``path``; an earlier file is replaced at once, or left whole.

    Parameters
    ----------
    data : DataFrame or array with the columns of the result: shows their distributions (counts only, no rows)
    dependence : :class:`dagtune.Dependence` for the heat map; otherwise the numbers of the first phase stand there
    confidence : :class:`dagtune.EdgeConfidence` of the bootstrap
    audit : what ``dagtune.audit`` found: ``rows`` and ``findings`` with code, columns, message, cure, severity
    truth : (d, d) graph, ``A[i, j]`` true means ``i -> j``: edges are marked right or wrong, and scored beside chance
    title, command : what to call the page, and the command line that led to it
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
    """The template with everything in its place."""
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
