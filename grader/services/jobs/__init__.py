"""Background jobs: leases, claims of processes that died, and the jobs of organizers."""
