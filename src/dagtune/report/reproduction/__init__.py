"""The reproduction page: writes REPRODUCTION.md and REPRODUCTION.html from a results file; computes no result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dagtune.experiments import Record, read_results
from dagtune.experiments.store import check_complete
from dagtune.files import write_whole
from dagtune.report.reproduction.numbers import Numbers
from dagtune.report.reproduction.page import Block, Figure, Heading, Text, to_html, to_markdown
from dagtune.report.reproduction.prose import reading
from dagtune.report.reproduction.sections import all_numbers, cuts, origin, tables
from dagtune.report.reproduction.verdicts import judge_all
from dagtune.validation import InputError

__all__ = ["Pages", "reproduction_pages", "write_reproduction"]

_TITLE = "The paper's numbers next to ours"
_PAPER = "Wang & Liu 2023, Learning nonparametric DAGs with incremental information via high-order HSIC"


@dataclass(frozen=True)
class Pages:
    """The page as Markdown and as HTML, and the drawings that the Markdown links to, by file name."""

    markdown: str
    html: str
    drawings: dict[str, str]

    @property
    def files(self) -> dict[str, str]:
        """Everything by file name."""
        return {"REPRODUCTION.md": self.markdown, "REPRODUCTION.html": self.html, **self.drawings}


def reproduction_pages(records: Sequence[Record]) -> Pages:
    """The pages of these records; the same records always give the same text."""
    if not records:
        raise InputError("the results file is empty: run `dagtune reproduce` first")
    numbers = Numbers(records)
    judged = judge_all(numbers)
    blocks: list[Block] = [
        Heading(1, _TITLE),
        Text(f"{_PAPER}, run again."),
        *origin(numbers),
        Text(reading(numbers, judged)),
        *tables(numbers),
        *all_numbers(judged, numbers),
        *cuts(numbers),
    ]
    drawings = {block.file: block.svg + "\n" for block in blocks if isinstance(block, Figure)}
    return Pages(to_markdown(blocks), to_html(blocks, _TITLE), drawings)


def write_reproduction(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> list[Path]:
    """Write the pages of a folder's results next to them, or into ``out``; returns the paths."""
    records = read_results(folder)
    check_complete(records)
    pages = reproduction_pages(records)
    source = Path(folder)
    target = Path(out) if out is not None else source if source.is_dir() else source.parent
    target.mkdir(parents=True, exist_ok=True)
    return [write_whole(target / name, text) for name, text in pages.files.items()]
