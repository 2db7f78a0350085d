"""HSIC of first and higher order: kernels, their low-rank features, and the two paths that measure dependence."""
