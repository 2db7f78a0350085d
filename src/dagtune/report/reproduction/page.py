"""A page made of blocks, as Markdown or as one self-contained HTML file. All text is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Block", "Figure", "Heading", "Table", "Text", "to_html", "to_markdown"]


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the page's."""

    level: int
    text: str


@dataclass(frozen=True)
class Text:
    """Paragraphs and lists in a little Markdown: ``**bold**``, `` `code` ``, links, lines that start with a dash."""

    markdown: str


@dataclass(frozen=True)
class Table:
    """Plain text in rows; ``**`` around a cell makes it bold."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """A drawing: a file of its own for Markdown, part of the page in HTML."""

    file: str
    svg: str
    caption: str


Block = Heading | Text | Table | Figure

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --page: #ffffff; --line: #d5dae0; --soft: #f3f5f7; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --page: #14171a; --line: #3a4048; --soft: #1d2226; } }
body { color: var(--ink); background: var(--page); font: 15px/1.5 system-ui, sans-serif; max-width: 78rem;
  margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.5rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
th { background: var(--soft); position: sticky; top: 0; }
tr:nth-child(even) td { background: var(--soft); }
code { background: var(--soft); padding: 0 .2rem; } figure { margin: 1rem 0; overflow-x: auto; }
figcaption { font-size: 13px; } svg { max-width: 100%; height: auto; min-width: 60rem; }
"""


def to_markdown(blocks: Sequence[Block]) -> str:
    """The page as Markdown; figures are linked by their file names."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def to_html(blocks: Sequence[Block], title: str) -> str:
    """The page as one HTML file, light or dark as the reader's system is, without any request to a network."""
    body = "\n".join(_html(block) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _markdown(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Text(markdown):
            return markdown.strip()
        case Table(head, rows):
            lines = [head, ["---"] * len(head), *rows]
            return "\n".join(f"| {' | '.join(map(_markdown_cell, line))} |" for line in lines)
        case Figure(file, _, caption):
            return f"![{caption}]({file})"


def _markdown_cell(text: str) -> str:
    """Text escaped so that it can't leave its cell or become markup; ``**`` at both ends stays."""
    strong = _strong(text)
    inner = " ".join((text if strong is None else strong).split())
    for sign, safe in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "\\`"), ("*", "\\*"), ("[", "\\[")):
        inner = inner.replace(sign, safe)
    return inner if strong is None else f"**{inner}**"


def _html(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Text(markdown):
            return _paragraphs(markdown)
        case Table(head, rows):
            top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
            body = "\n".join("<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in rows)
            return f'<div class="scroll"><table><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table></div>'
        case Figure(_, svg, caption):
            return f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _html_cell(text: str) -> str:
    strong = _strong(text)
    inner = html.escape(text if strong is None else strong)
    return f"<td>{inner}</td>" if strong is None else f"<td><strong>{inner}</strong></td>"


def _strong(text: str) -> str | None:
    return text[2:-2] if len(text) > 4 and text.startswith("**") and text.endswith("**") else None


def _paragraphs(markdown: str) -> str:
    """Headings, lists and paragraphs, separated by empty lines."""
    parts = []
    for chunk in re.split(r"\n\s*\n", markdown.strip()):
        lines = chunk.splitlines()
        if lines[0].startswith("#"):
            marks, _, title = chunk.partition(" ")
            parts.append(f"<h{len(marks)}>{_inline(title)}</h{len(marks)}>")
        elif lines[0].startswith("- "):
            items = re.split(r"\n?^- ", chunk, flags=re.MULTILINE)[1:]
            parts.append("<ul>" + "".join(f"<li>{_inline(' '.join(item.split()))}</li>" for item in items) + "</ul>")
        else:
            parts.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "\n".join(parts)


def _inline(text: str) -> str:
    safe = html.escape(text, quote=False)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    return re.sub(r"\[([^\]]+)\]\(([\w./#:-]+)\)", r'<a href="\2">\1</a>', safe)
