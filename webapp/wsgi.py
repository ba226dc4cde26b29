"""WSGI entry point and configuration for gunicorn: `--config python:webapp.wsgi webapp.wsgi:app`."""

import gc
import os

gc.disable()  # The imports create little garbage, and collecting it would take a fifth of their time.

from grader.logs import observe  # noqa: E402
from grader.settings import load  # noqa: E402
from webapp.app import create_app  # noqa: E402

settings = load()
workers, threads, loglevel = settings.web_workers, settings.web_threads, "warning"
observe("web", settings)
app = create_app(settings)
gc.freeze()  # Collections in forked workers would copy the memory that they share.
gc.enable()
if descriptor := os.environ.pop("WEB_WAITS_FOR", None):
    os.read(int(descriptor), 1)  # returns when `fairboard serve` has prepared the database
