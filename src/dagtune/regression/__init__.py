"""Additive smooth regressions answered from one feature Gram matrix; learners and baselines share them."""

from dagtune.regression.fit_result import Fit, fitted
from dagtune.regression.fits import Trials, fit, try_each
from dagtune.regression.gram import (
    LEAST,
    P_SPLINE,
    RIDGE,
    ROOM,
    THIN_PLATE,
    Basis,
    Categories,
    Curve,
    Gram,
    Spline,
    measure_basis,
    measure_gram,
)
from dagtune.regression.growing import Growing

__all__ = [
    "LEAST",
    "P_SPLINE",
    "RIDGE",
    "ROOM",
    "THIN_PLATE",
    "Basis",
    "Categories",
    "Curve",
    "Fit",
    "Gram",
    "Growing",
    "Spline",
    "Trials",
    "fit",
    "fitted",
    "measure_basis",
    "measure_gram",
    "try_each",
]
