"""Background jobs: leases, takeover from dead processes, organizers' jobs."""
