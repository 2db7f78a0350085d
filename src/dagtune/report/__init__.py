"""Stored results in, pages out: :func:`write_report` makes one self-contained HTML file of a learned graph."""

from dagtune.report.page import write_report

__all__ = ["write_report"]
