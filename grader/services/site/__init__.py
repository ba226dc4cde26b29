"""Site services: audit log, e-mail, background jobs, monitoring, and shared helpers."""
