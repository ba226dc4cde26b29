"""Accounts: sign-up, login, password reset, API tokens, deletion of a user."""
