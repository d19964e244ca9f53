"""Settings of the whole suite."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# What an earlier run compiled must not make this one pass; the tests of the cache have folders of their own.
os.environ["MLIR_SPARSE_CACHE"] = "off"

# No deadline: the first example of a property may pay for a compilation. Failures print what reproduces them.
settings.register_profile("default", deadline=None, max_examples=50, print_blob=True)
settings.register_profile(
    "thorough",
    parent=settings.get_profile("default"),
    max_examples=2000,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
