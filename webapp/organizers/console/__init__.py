"""Organizers' pages while a competition runs: dashboard, teams, submissions, questions, exports, audit."""
