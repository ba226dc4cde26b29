"""Audit log of organizers' actions, and public log of each competition."""
