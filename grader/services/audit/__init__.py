"""Audit log of organizers' acts, and the public log of a competition."""
