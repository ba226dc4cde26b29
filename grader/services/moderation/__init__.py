"""Moderation: disqualifications, marks, disputes, search for submissions and teams."""
