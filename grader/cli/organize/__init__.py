"""Organizers' commands, local or remote: create, change, announce, rescore, close, export."""
