"""The documentation site: chapters of docs/, search, reference of the metric."""
