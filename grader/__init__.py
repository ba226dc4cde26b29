"""The grader: metric, files, leaderboards and jobs, without any web code."""
