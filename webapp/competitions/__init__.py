"""Pages of a competition for everybody: list, overview, data, public log."""
