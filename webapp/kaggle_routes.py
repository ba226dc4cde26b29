"""Register the calls of the official `kaggle` command."""

from flask import Flask

from webapp.kaggle_protocol import (
    competitions,
    data,
    introspection,
    leaderboards,
    old_routes,
    organizers,
    page,
    protocol,
    settings,
    submissions,
    uploads,
)

# They have added themselves to the blueprint.
CALLS = (
    *(introspection, competitions, data, uploads, submissions, leaderboards, organizers, settings),
    old_routes,
)


def init_app(app: Flask) -> None:
    """Register the calls, and the page that says how to use them."""
    protocol.init_app(app)
    app.register_blueprint(page.blueprint)
