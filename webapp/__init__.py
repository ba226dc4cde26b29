"""The web application: pages and the JSON API."""
