"""Tables: reading files and frames, names, kinds of columns, missing values, and where rows live."""

from dagtune.tables.cluster import connect, map_there, run_there
from dagtune.tables.completing import DRAWS
from dagtune.tables.dialect import ReadOptions
from dagtune.tables.files import Loaded, load_frame, pick_names, read_adjacency
from dagtune.tables.formats import FORMATS, register_format
from dagtune.tables.frames import as_frame, unmasked
from dagtune.tables.gaps import MISSING, Gaps, look_at_gaps
from dagtune.tables.kinds import KINDS, MAX_CATEGORIES, Coded, Kind, infer_kind, register_kind
from dagtune.tables.labels import Labels
from dagtune.tables.opening import may_stay_outside
from dagtune.tables.reading import MEMORY, check_vector_pair, read_table
from dagtune.tables.rows import MemoryRows, Rows
from dagtune.tables.scaling import standardized
from dagtune.tables.table import FEW_ROWS, SOME_ROWS, Table, few_rows
from dagtune.tables.together import block_length, draw_rows, lag_correlation
from dagtune.tables.weights import weighted

__all__ = [
    "DRAWS",
    "FEW_ROWS",
    "FORMATS",
    "KINDS",
    "MAX_CATEGORIES",
    "MEMORY",
    "MISSING",
    "SOME_ROWS",
    "Coded",
    "Gaps",
    "Kind",
    "Labels",
    "Loaded",
    "MemoryRows",
    "ReadOptions",
    "Rows",
    "Table",
    "as_frame",
    "block_length",
    "check_vector_pair",
    "connect",
    "draw_rows",
    "few_rows",
    "infer_kind",
    "lag_correlation",
    "load_frame",
    "look_at_gaps",
    "map_there",
    "may_stay_outside",
    "pick_names",
    "read_adjacency",
    "read_table",
    "register_format",
    "register_kind",
    "run_there",
    "standardized",
    "unmasked",
    "weighted",
]
