"""WSGI entry point for gunicorn: `webapp.wsgi:app`."""

import gc
import logging

gc.disable()  # The imports create little garbage, and collecting it would take a fifth of their time.

from grader.settings import load  # noqa: E402
from webapp.app import create_app  # noqa: E402

logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
app = create_app(load())
gc.freeze()  # Collections in forked workers would copy the memory that they share.
gc.enable()
