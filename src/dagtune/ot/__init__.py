"""The paper's learner, OT: the optimal phase and the tuning phase. Read :mod:`dagtune.ot.algorithm` first."""
