"""What every worker process needs: limits of memory and time, stopping, retries, children, its name."""
