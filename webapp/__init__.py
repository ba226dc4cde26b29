"""Web application: pages and JSON API."""
