"""Accounts: login, own account, administration (pages and API)."""
