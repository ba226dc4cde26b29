"""Leaderboards: pages, charts, CSV, team results, published rescorings."""
