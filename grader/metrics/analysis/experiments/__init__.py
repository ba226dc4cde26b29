"""Experiments: counterfactual pairs, fuzzed sets, pinned AUC, scenarios, skew."""
