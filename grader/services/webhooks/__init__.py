"""Webhooks: which addresses may be called, the outbox of events, signatures."""
