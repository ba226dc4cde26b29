"""Application factory: pages, JSON API, middleware and form size limits."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flask import Flask
from jinja2 import StrictUndefined

from grader import counters, db
from grader.db import Database
from grader.services.identity.accounts import password_hasher
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.worker.broker import Hints
from webapp import routes
from webapp.http import confirmation, errors, fields, lookups, middleware
from webapp.http.site import Site
from webapp.presentation import assets, formats
from webapp.submissions import uploads

if TYPE_CHECKING:
    from grader.services.identity.openid_connect import OpenIDConnect

MAX_FORM_BYTES = 256_000
MAX_FORM_PARTS = 50


def create_app(
    settings: Settings,
    *,
    database: Database | None = None,
    storage: Storage | None = None,
    hints: Hints | None = None,
) -> Flask:
    """Create the application for one site. Omitted components are created from the settings."""
    if database is None:
        database = Database(settings.database(), pool_size=settings.web_threads, timeout=db.TIMEOUT_SECONDS)
    site = Site(
        settings=settings,
        database=database,
        storage=storage or open_storage(settings.storage()),
        hints=hints or Hints(settings),
        passwords=password_hasher(settings),
        trusted_names=settings.trusted_names(),
        providers=_providers(settings),
    )
    app = Flask("webapp", static_folder=None)  # `assets` serves the static files.
    app.extensions["fairboard"] = site
    fields.init_app(app)
    # This limit applies to every request. `uploads` sets other limits for competition files.
    app.config.update(
        MAX_CONTENT_LENGTH=MAX_FORM_BYTES, MAX_FORM_MEMORY_SIZE=MAX_FORM_BYTES, MAX_FORM_PARTS=MAX_FORM_PARTS
    )
    app.json.sort_keys = False  # type: ignore[attr-defined] # keep the documented key order
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    for module in (assets, formats, lookups, routes):
        module.init_app(app)
    counters.enable(settings.metrics_dir())
    middleware.init_app(app, site, body_limits=uploads.BODY_LIMITS)
    errors.init_app(app)
    confirmation.init_app(app)
    return app


def _providers(settings: Settings) -> "Mapping[str, OpenIDConnect]":
    if not (providers := settings.providers()):
        return {}
    # The libraries take a fifth of a second to import.
    from grader.services.identity.openid_connect import OpenIDConnect

    return {each.slug: OpenIDConnect(each) for each in providers}
