"""Figures in competition texts, and the stored HTML of these texts."""
