"""Pages from stored results: :func:`write_report` writes one self-contained HTML file about a learned graph."""

from dagtune.report.page import write_report

__all__ = ["write_report"]
