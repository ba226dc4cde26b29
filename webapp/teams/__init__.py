"""Entries and teams (pages and API): joining, members, invitations, mergers."""
