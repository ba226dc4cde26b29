"""Entries and teams: joining, members, invitations, mergers (pages and API)."""
