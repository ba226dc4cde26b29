"""Organizers' commands: create, change, announce, rescore, close, export; local or remote."""
