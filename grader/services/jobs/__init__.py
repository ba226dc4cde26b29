"""Background jobs: leases, jobs of crashed workers, organizers' jobs."""
