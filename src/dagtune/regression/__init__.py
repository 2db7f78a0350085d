"""Additive smooth regressions answered from one feature Gram matrix; learners and baselines share them."""

from dagtune.regression.fits import Fit, Growing, Trials, fit, fitted, try_each
from dagtune.regression.gram import (
    LEAST,
    P_SPLINE,
    RIDGE,
    ROOM,
    THIN_PLATE,
    Categories,
    Curve,
    Gram,
    Spline,
    measure_gram,
)

__all__ = [
    "LEAST",
    "P_SPLINE",
    "RIDGE",
    "ROOM",
    "THIN_PLATE",
    "Categories",
    "Curve",
    "Fit",
    "Gram",
    "Growing",
    "Spline",
    "Trials",
    "fit",
    "fitted",
    "measure_gram",
    "try_each",
]
