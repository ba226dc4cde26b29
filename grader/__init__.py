"""The grader: metric, file readers, leaderboards and jobs, without any web code."""
