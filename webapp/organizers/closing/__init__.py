"""Organizers' pages of the close: verify, reveal, finalize."""
