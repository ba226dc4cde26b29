"""Participants' commands over HTTP: log in, submit, read scores, download."""
