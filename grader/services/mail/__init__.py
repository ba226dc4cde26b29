"""E-mail: outbox, templates, addresses, limits."""
