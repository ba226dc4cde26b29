"""Uncertainty of a metric: bootstrap, intervals, paired differences, power, influence of single rows."""
