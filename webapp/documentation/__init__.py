"""Documentation site: chapters from docs/, search, metric reference."""
