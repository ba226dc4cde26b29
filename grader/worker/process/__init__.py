"""What every worker process needs: memory and time limits, stopping, retries, names of processes."""
