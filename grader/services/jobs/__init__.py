"""Organizers background jobs: leases, claims."""
