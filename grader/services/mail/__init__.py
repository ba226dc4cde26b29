"""E-mail: the outbox, addresses, and limits on mail."""
