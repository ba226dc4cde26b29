"""Solutions, data files and metric.py on organizers' pages."""
