"""The site: audit log, mail, background jobs, monitoring, and helpers of all services."""
