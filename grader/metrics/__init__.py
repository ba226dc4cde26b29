"""Competition metrics by name, custom metrics (metric.py), and leaderboard expressions."""
