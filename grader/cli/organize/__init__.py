"""Organizers' commands over HTTP: create, change, announce, rescore, close, export, any API request."""
