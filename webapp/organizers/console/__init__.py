"""Organizers' pages for a running competition: console, teams, submissions, audit."""
