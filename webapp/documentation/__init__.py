"""Documentation site: chapters from docs/, metric reference."""
