"""The OpenAPI document: made by spectree of the operations' models, with what spectree does not describe."""

from copy import deepcopy
from importlib.metadata import version
from typing import Any

from grader.services.accounts.api_tokens import Scope
from webapp.http.operations import KEY_HEADER, OPERATIONS, SPEC, Operation

INTRODUCTION = (
    "Everything that the pages of a Fairboard site do. Make a token on your account page and send it as "
    "`Authorization: Bearer TOKEN`. Bodies are JSON in UTF-8, times are UTC. A list has `next`, the address "
    "of its next part, or null. A change that breaks programs gets a new version of the API; fields may be "
    "added to answers at any time."
)
SCOPES = {
    Scope.READ: "read what the person sees as a participant",
    Scope.SUBMIT: "join, submit, select, and act for one's team",
    Scope.ORGANIZE: "do what an organizer does, where the person is one",
    Scope.ADMIN: "do what an administrator does, if the person is one",
}
ERROR = {"$ref": "#/components/schemas/Error"}
WAIT = {"description": "In how many seconds to try again.", "schema": {"type": "integer"}}
RATE = {
    "RateLimit-Limit": {
        "description": "How many requests of this kind are taken.",
        "schema": {"type": "integer"},
    },
    "RateLimit-Remaining": {"description": "How many are left.", "schema": {"type": "integer"}},
    "RateLimit-Reset": {"description": "In how many seconds all are free.", "schema": {"type": "integer"}},
}
# Types that programs take apart, here of a shape that no model describes; any other is a file of bytes.
READ_BY_CHECKERS = ("application/json", "text/event-stream")
METHODS = ("get", "post", "put", "patch", "delete")


def document() -> dict[str, Any]:
    """Return the document; call it within a request or an application's context, for the routes are asked."""
    models = deepcopy(SPEC.models)
    made = SPEC._generate_spec()
    SPEC.models = models  # spectree takes the definitions of nested models out of them
    paths = {path: made["paths"][path] for path in sorted(made["paths"])}
    for methods in paths.values():
        for described in methods.values():
            _complete(described, OPERATIONS[described["operationId"]])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fairboard API", "version": version("fairboard"), "description": INTRODUCTION},
        "servers": [{"url": "/"}],
        "tags": sorted(made["tags"], key=lambda tag: str(tag["name"])),
        "paths": paths,
        "components": {
            "schemas": dict(sorted(made["components"]["schemas"].items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _complete(described: dict[str, Any], known: Operation) -> None:
    """Add what an operation needs of its asker, its files, its key and its errors."""
    described["security"] = [{"token": []}] if known.scope else [{}, {"token": []}]
    described["x-scope"] = known.scope.value if known.scope else None
    answers = described["responses"]
    answers.pop("422", None)
    answers["default"] = {
        "description": "An error.",
        "headers": {"Retry-After": WAIT, **RATE},
        "content": {"application/json": {"schema": ERROR}},
    }
    if known.answers_file:
        for status, answer in answers.items():
            if status.startswith("2"):
                is_read = known.answers_file in READ_BY_CHECKERS
                schema = {} if is_read else {"type": "string", "format": "binary"}
                answer["content"] = {known.answers_file: {"schema": schema}}
    if known.takes_file:
        described["requestBody"] = _file_body()
    if known.creates or known.keeps_key:
        described["parameters"].append(
            {
                "name": KEY_HEADER,
                "in": "header",
                "required": False,
                "description": "The request takes effect once for each key, however often it is sent.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
            }
        )


def _file_body() -> dict[str, Any]:
    binary = {"type": "string", "format": "binary"}
    form = {"type": "object", "properties": {"file": binary}, "required": ["file"]}
    return {
        "required": True,
        "content": {"multipart/form-data": {"schema": form}, "application/octet-stream": {"schema": binary}},
    }
