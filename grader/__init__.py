"""Grader: metric, file readers, leaderboards and jobs, independent of the web application."""
