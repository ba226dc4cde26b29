"""Accounts: sign-up, sessions, passwords, e-mail addresses and API tokens."""
