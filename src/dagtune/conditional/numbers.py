"""All numbers of the conditional learner, each with its meaning and where it comes from. None of them is a decision."""

from __future__ import annotations

import numpy as np

__all__ = [
    "APART",
    "BEND_VARIANCES",
    "CLOSE",
    "DISCRETE",
    "DISPERSIONS",
    "EDGE_RATES",
    "FUNCTIONS",
    "INDEX_BENDS",
    "INDEX_LINES",
    "LANDMARKS",
    "LEAST_SHARE",
    "LINE_VARIANCES",
    "MOST_LEVELS",
    "NEEDED",
    "NEGLIGIBLE",
    "QUADRATIC",
    "RESAMPLES",
    "RESAMPLE_SWEEPS",
    "ROWS",
    "SHAPES",
    "SMOOTHNESS",
    "SPIKE",
    "SPREADS",
    "SPREAD_BENDS",
    "STARTS",
    "START_RATES",
    "TILTS",
    "TRIED",
]

#: B-splines of a variable, and how many of the smoothest functions of them are kept (line included).
FUNCTIONS = 12, 6
#: Rows that link, spread, distribution and joint mechanism look at, and that a longer table counts as.
ROWS = 5000
#: Prior variances of a straight line's coefficient and of a bent function's, in units of the noise variance; they are
#: averaged over. They reach to almost noiseless tables: with less, wrong orders beat the truth there.
LINE_VARIANCES = np.array([1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e8, 1e10])
BEND_VARIANCES = np.array([0.0, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e6, 1e8, 1e10])
#: The least share of a variance that sums over rows can tell from none.
LEAST_SHARE = 1e-11
#: Prior standard deviations, times 1 / k for the k-th function, of the tilt that makes any distribution of a Gaussian.
TILTS = np.array([0.5, 2.0])
#: Shapes b of the noise density exp(-|e / s|^b) beside the Gaussian's 2: Laplace, flat, flatter.
SHAPES = np.array([1.0, 5.0, 20.0])
#: Prior variances of the functions in the log variance of the noise.
SPREADS = np.array([0.03, 0.3])
#: Bent functions of a parent in the log variance, beside the line: rougher ones have next to no prior variance.
SPREAD_BENDS = 3
#: Landmark rows of the joint mechanism.
LANDMARKS = 60
#: Prior variance of the joint mechanism's pre-activations, times 1 / (number of parents), beside 1 for the bias.
SMOOTHNESS = 1.0
#: Weight of the quadratic form in the joint mechanism's kernel, beside 1 for the network's.
QUADRATIC = 0.1
#: Prior probabilities of an edge, of which the likeliest for the table is taken.
EDGE_RATES = (0.01, 0.03, 0.07, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)
#: Probabilities of an edge at which a search begins, sparse and dense, and how often each: top-down and bottom-up.
START_RATES, STARTS = (0.15, 0.9), 2
#: Parents that are tried for addition, and for removal, with all cells; they are ranked by the Gaussian cell.
TRIED = 2, 1
#: Nats below which a flip of one parent is counted by its Gaussian evidence alone.
CLOSE = 4.0
#: Nats below which a cell is not worth computing exactly.
NEGLIGIBLE = 12.0
#: Nats that the varying spread has to bring to all variables together, at their likely sets, to be offered at all.
NEEDED = 1.0
#: Width tau of the spike in the shared prior of log noise variances, and the share eps of the variables apart from it:
#: noise that is equal but for one variable in a thousand. The other half of the prior is noise of any scale.
SPIKE, APART = 0.03, 1e-3
#: Resamples of the rows whose posteriors are averaged, and sweeps of the chain of each.
RESAMPLES, RESAMPLE_SWEEPS = 8, 4
#: A column with no more values than this is discrete: the smooth density of noise has so many functions.
DISCRETE = 11
#: Prior variances of a line's and of a bent function's weight in the index of levels and counts. The scale is that of
#: log odds and of log means, where 0.1 is hardly seen in thousands of rows and 10 separates.
INDEX_LINES = np.array([1e-2, 1e-1, 1e0, 1e1, 1e2])
INDEX_BENDS = np.array([0.0, 1e-2, 1e-1, 1e0, 1e1, 1e2])
#: Dispersions r of counts, whose variance is mu + mu^2 / r: from one event in ten bursts to Poisson's.
DISPERSIONS = np.array([0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1e4])
#: Most levels of an effect with an order; neighbours among more values share one.
MOST_LEVELS = 12
