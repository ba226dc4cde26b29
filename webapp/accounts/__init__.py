"""Pages and API of accounts: login, profile, notifications, administration."""
