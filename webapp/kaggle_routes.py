"""Register the calls of the official `kaggle` command."""

from flask import Flask

from webapp.kaggle import competitions, data, introspection, leaderboards, protocol, submissions, uploads

CALLS = (
    introspection,
    competitions,
    data,
    uploads,
    submissions,
    leaderboards,
)  # they have added themselves to the blueprint


def init_app(app: Flask) -> None:
    """Register the calls."""
    protocol.init_app(app)
