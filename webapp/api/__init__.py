"""The JSON API, version 1: its routes."""

from flask import Flask

from webapp.api import competitions, entry, leaderboards, submissions
from webapp.api.v1 import blueprint

ROUTES = (competitions, entry, leaderboards, submissions)  # they have added themselves to the blueprint


def init_app(app: Flask) -> None:
    """Register the API."""
    app.register_blueprint(blueprint)
