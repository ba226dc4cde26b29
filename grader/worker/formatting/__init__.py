"""Organizers' texts formatted in a child process, which a text that takes too long ends alone."""
