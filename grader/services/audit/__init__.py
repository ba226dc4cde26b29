"""Audit log of organizers' actions, and the public log of a competition."""
