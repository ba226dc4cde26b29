"""Audit log of organizers' actions."""
