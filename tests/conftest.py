"""One profile for hypothesis: no deadlines, because the machines are noisy and numba compiles on first use."""

from hypothesis import HealthCheck, settings

settings.register_profile("dagtune", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("dagtune")
