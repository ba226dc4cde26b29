"""Accounts: login, profile, administration (pages and API)."""
