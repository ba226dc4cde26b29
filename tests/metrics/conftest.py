"""Hypothesis looks for counterexamples here, not for a machine that is busy."""

from hypothesis import settings

settings.register_profile("without a deadline", deadline=None)
settings.load_profile("without a deadline")
