"""The documentation site: the chapters of docs/ as pages, their search, the reference of the metric."""
