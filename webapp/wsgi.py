"""WSGI entry point for gunicorn: `webapp.wsgi:app`."""

import logging

from grader.settings import load
from webapp.app import create_app

logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
app = create_app(load())
