"""Two real tables, bundled: ``load("sachs")`` and ``load("ames")``. docs/data.md says how the files were made."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources

import numpy as np
import pandas as pd

from dagtune.graph import from_edge_list
from dagtune.validation import check_choice

__all__ = ["DATASETS", "Dataset", "load"]


@dataclass(frozen=True)
class Dataset:
    """A table, its reference graph, and where both come from.

    Parameters
    ----------
    name : str
        Name under which :func:`load` finds it.
    X : DataFrame
        The values, one column for each variable.
    graph : DataFrame or None
        The graph accepted as true (0/1, the row causes the column), or None if there is none.
    source : str
        Publication, and the file that the values were taken from.
    licence : str
        Full text of the licence of the table.
    notes : str
        What a user should know about rows, columns and graph.
    conditions : Series or None
        Under which condition of an experiment each row was taken.
    targets : mapping of str to tuple of str
        What each condition acted on; conditions that are not there acted on nothing. With ``conditions`` it is what
        learners take: ``experiments={"rows": data.conditions, "targets": data.targets}``.

    Examples
    --------
    >>> load("sachs")
    Dataset('sachs', 7466 rows, 11 columns, 20 edges)
    """

    name: str
    X: pd.DataFrame
    graph: pd.DataFrame | None
    source: str
    licence: str
    notes: str
    conditions: pd.Series | None = None
    targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        edges = "no graph" if self.graph is None else f"{int(self.graph.to_numpy().sum())} edges"
        return f"Dataset({self.name!r}, {self.X.shape[0]} rows, {self.X.shape[1]} columns, {edges})"


def load(name: str) -> Dataset:
    """Bundled data set by name.

    Parameters
    ----------
    name : {"sachs", "ames"}
        Or another name in :data:`DATASETS`.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If there is no such data set.

    Examples
    --------
    >>> load("ames").X.shape
    (2930, 11)
    """
    return DATASETS[check_choice("data set", name, DATASETS)]()


def sachs() -> Dataset:
    """Proteins and phospholipids in human immune cells: 7466 cells, 11 raw measurements, 20 accepted edges.

    Returns
    -------
    Dataset

    References
    ----------
    K. Sachs, O. Perez, D. Pe'er, D. Lauffenburger, G. Nolan: Causal protein-signaling networks derived from
    multiparameter single-cell data. Science 308 (2005).
    """
    X = _table("sachs")
    return Dataset(
        name="sachs",
        X=X,
        graph=from_edge_list(_SACHS_EDGES, X.columns),
        source=(
            "K. Sachs, O. Perez, D. Pe'er, D. Lauffenburger, G. Nolan: Causal protein-signaling networks derived from "
            "multiparameter single-cell data, Science 308 (2005). Table: cdt/data/resources/cyto_full_data.csv of the "
            "PyPI wheel cdt 0.6.0, values unchanged."
        ),
        licence=_licence("sachs"),
        notes=(
            "Rows from several experimental conditions, some with interventions, are pooled: they are not draws from "
            "one distribution. Columns are renamed: praf raf, pmek mek, plcg plc, PIP2 pip2, PIP3 pip3, p44/42 erk, "
            "pakts473 akt, PKA pka, PKC pkc, P38 p38, pjnk jnk. The graph has 20 edges, as the OT paper counts them; "
            "the 18-edge graph in the same wheel has a cycle (plcg -> PIP2 -> PIP3 -> plcg), so it is not used. The "
            "conditions are the nine of the publication that this table holds, one after the other; targets are what "
            "their reagents act on: inhibitors act on a protein's activity, not on its measured level, so it "
            "is left to the data whether a target was set, disturbed or bypassed."
        ),
        conditions=pd.Series(np.repeat(list(_SACHS_ROWS), list(_SACHS_ROWS.values())), name="condition"),
        targets=dict(_SACHS_TARGETS),
    )


def ames() -> Dataset:
    """House sales in Ames, Iowa, 2006 to 2010: 2930 houses, 11 variables, no graph.

    Returns
    -------
    Dataset

    References
    ----------
    D. De Cock: Ames, Iowa: alternative to the Boston housing data as an end of semester regression project. Journal of
    Statistics Education 19 (2011).
    """
    return Dataset(
        name="ames",
        X=_table("ames"),
        graph=None,
        source=(
            "D. De Cock: Ames, Iowa: alternative to the Boston housing data as an end of semester regression project, "
            "Journal of Statistics Education 19 (2011). Table: ames in the R package modeldata 1.1.0, Debian package "
            "r-cran-modeldata 1.1.0-1; 11 of its 74 columns, all of its rows."
        ),
        licence=_licence("ames"),
        notes=(
            "The 11 variables are our choice, one for each thing a buyer asks about: the ground (lot_area, square "
            "feet), age and upkeep (year_built, year_remodelled, condition from 1 very poor to 10), size "
            "(living_area, basement_area, garage_area, square feet), what is inside (rooms and full baths above "
            "ground, fireplaces) and the price paid (price, dollars). No column is a sum of others and none is "
            "categorical; condition, rooms, baths and fireplaces are small whole numbers. The source leaves out the "
            "assessor's overall quality, and so do we. The OT paper uses 11 variables and 12 edges that it attributes"
            " to Conrady and Jouffe (2015); it lists neither, and neither was found in public text. These are not "
            "theirs, and there is no true graph: graph is None."
        ),
    )


#: Functions that build each data set, by name; add your own here.
DATASETS: dict[str, Callable[[], Dataset]] = {"sachs": sachs, "ames": ames}

_SACHS_EFFECTS = {
    "raf": "mek",
    "mek": "erk",
    "erk": "akt",
    "plc": "pip2 pkc",
    "pip2": "pkc",
    "pip3": "pip2 plc akt",
    "pka": "raf mek erk akt jnk p38",
    "pkc": "raf mek pka jnk p38",
}
#: The conditions in the order of the table, and how many rows each has.
_SACHS_ROWS = {
    "general": 853,
    "general+icam2": 902,
    "akt inhibitor": 911,
    "g0076": 723,
    "psitectorigenin": 810,
    "u0126": 799,
    "ly294002": 848,
    "pma": 913,
    "b2camp": 707,
}
#: What the reagents act on: inhibitors of akt, pkc, pip2, mek and pi3k (pip3 and akt), activators of pkc and pka.
_SACHS_TARGETS = {
    "akt inhibitor": ("akt",),
    "g0076": ("pkc",),
    "psitectorigenin": ("pip2",),
    "u0126": ("mek",),
    "ly294002": ("pip3", "akt"),
    "pma": ("pkc",),
    "b2camp": ("pka",),
}
_SACHS_EDGES = [(cause, effect) for cause, effects in _SACHS_EFFECTS.items() for effect in effects.split()]


def _table(name: str) -> pd.DataFrame:
    """Values exact to the last digit: numpy parses decimals exactly, older versions of pandas do not."""
    packed = (resources.files(__package__) / f"{name}.csv.gz").read_bytes()
    header, *rows = gzip.decompress(packed).decode("ascii").splitlines()
    return pd.DataFrame(np.loadtxt(rows, delimiter=","), columns=header.split(","))


def _licence(name: str) -> str:
    return (resources.files(__package__) / f"{name}.licence.txt").read_text(encoding="utf-8")
