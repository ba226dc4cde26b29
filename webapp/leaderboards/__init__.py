"""Leaderboards: pages, charts, CSV, team results, the last published rescoring."""
