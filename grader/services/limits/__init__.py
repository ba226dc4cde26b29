"""Teams' submission limits, and grants of extra submissions."""
