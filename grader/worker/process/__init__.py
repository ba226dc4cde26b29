"""Tools of worker processes: children, limits, lanes and retries, names of holders, shares."""
