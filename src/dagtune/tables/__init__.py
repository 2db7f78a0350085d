"""Tables: reading files and frames, names, kinds of columns, missing values, and where rows live."""

from dagtune.tables.files import FORMATS, load_frame, pick_names, read_adjacency, read_header, register_format
from dagtune.tables.frames import as_frame, unmasked
from dagtune.tables.kinds import KINDS, MAX_CATEGORIES, Kind, register_kind
from dagtune.tables.reading import FEW_ROWS, MISSING, Table, check_vector_pair, few_rows, read_table
from dagtune.tables.rows import MemoryRows, Rows

__all__ = [
    "FEW_ROWS",
    "FORMATS",
    "KINDS",
    "MAX_CATEGORIES",
    "MISSING",
    "Kind",
    "MemoryRows",
    "Rows",
    "Table",
    "as_frame",
    "check_vector_pair",
    "few_rows",
    "load_frame",
    "pick_names",
    "read_adjacency",
    "read_header",
    "read_table",
    "register_format",
    "register_kind",
    "unmasked",
]
