"""The conditional learner: an order in which earlier explains later best, parents within it, residual checks."""
