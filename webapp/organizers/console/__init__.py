"""Organizers' pages of a running competition: console, teams, submissions, questions, audit."""
