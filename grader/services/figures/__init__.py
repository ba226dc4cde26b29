"""Figures in the texts of competitions, and the stored HTML of these texts."""
