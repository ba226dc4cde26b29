"""The blueprint of version 1: bearer tokens only."""

from flask import Blueprint

from webapp import auth

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")
blueprint.before_request(auth.require_token)
