"""Tables: reading files and frames, names, kinds of columns, gaps, and the one Rows interface."""

from dagtune.tables.files import load_frame, pick_names, read_adjacency, read_header
from dagtune.tables.reading import MAX_LEVELS, MISSING, Table, check_vector_pair, read_table
from dagtune.tables.rows import Rows

__all__ = [
    "MAX_LEVELS",
    "MISSING",
    "Rows",
    "Table",
    "check_vector_pair",
    "load_frame",
    "pick_names",
    "read_adjacency",
    "read_header",
    "read_table",
]
