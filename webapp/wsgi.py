"""The application that gunicorn serves: `webapp.wsgi:app`, with the settings of the environment."""

from grader.settings import load
from webapp import create_app

app = create_app(load())
