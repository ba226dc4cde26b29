"""Ranking and rounding, and who sees what when. Pure: no database, no settings, no web."""
