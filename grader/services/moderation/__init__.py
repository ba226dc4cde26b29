"""Moderation: disqualify, mark, disputes, search submissions and teams."""
