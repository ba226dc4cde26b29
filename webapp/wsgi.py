"""The application that gunicorn serves: `webapp.wsgi:app`, with the settings of the environment."""

import logging

from grader.settings import load
from webapp import create_app

logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
app = create_app(load())
