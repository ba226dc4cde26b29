"""Process management: children, resource limits, lanes, retries, holder names, CPU quotas."""
