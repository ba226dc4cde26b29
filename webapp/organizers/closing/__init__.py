"""Organizers' pages for the close: verify, reveal, finalize."""
