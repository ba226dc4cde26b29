"""Accounts: login, profile, notifications, administration (pages and API)."""
