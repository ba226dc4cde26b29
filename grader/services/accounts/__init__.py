"""Accounts: sign-up, logins, passwords, e-mail addresses, API tokens."""
