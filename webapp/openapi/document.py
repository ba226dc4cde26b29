"""The API's description: the OpenAPI document made by spectree, and the page that shows it."""

import tomllib
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flask import Blueprint, current_app, render_template
from flask.typing import ResponseReturnValue

from grader.prose import markdown
from grader.services.accounts.api_tokens import Scope
from grader.services.competitions.settings_model import METRIC_PARTS, SETTINGS
from webapp.http.api import KEY_HEADER, OPERATIONS, SPEC, Operation
from webapp.http.responses import conditional

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
SCHEMAS = "#/components/schemas/"
KEYWORDS = {"ge": "minimum", "le": "maximum"}  # as pydantic names them behind a validator
BINARY = {"type": "string", "format": "binary"}
FILE_NAME = {
    "file_name": {"type": "string", "description": "The file's name, if the whole body is the file."}
}
KEY = {
    "name": KEY_HEADER,
    "in": "header",
    "required": False,
    "description": "The request takes effect once for each key, however often it is sent.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The ETag that was read: a change of something that has changed since is 412.",
    "schema": {"type": "string"},
}
REPLAY = "The response to a request that was sent before with the same Idempotency-Key."
REPLAYED = {
    "description": "`true` in the response to a request that was sent before with the same key.",
    "schema": {"type": "string", "enum": ["true"]},
}
ERROR = {"$ref": SCHEMAS + "Error"}
# By operation and status; `make api-errors` finds them in the source code.
ERRORS: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("errors.toml").read_text("utf-8")
)
# Descriptions and examples of properties and parameters, by name.
VOCABULARY: dict[str, list[Any]] = tomllib.loads(
    Path(__file__).with_name("vocabulary.toml").read_text("utf-8")
)
SETTINGS_MODELS = ("CompetitionSettings", "SettingsShown", "MetricSettings", "Weights")
BY_FORMAT = {"date-time": "2030-01-31T12:00:00Z", "date": "2030-01-31"}
BY_TYPE = {"boolean": True, "integer": 1, "number": 0.5, "string": "text", "null": None, "object": {}}
WAIT = {"description": "In how many seconds to try again.", "schema": {"type": "integer"}}
RATE = {
    "RateLimit-Limit": {
        "description": "How many requests of this kind are taken.",
        "schema": {"type": "integer"},
    },
    "RateLimit-Remaining": {"description": "How many are left.", "schema": {"type": "integer"}},
    "RateLimit-Reset": {"description": "In how many seconds all are free.", "schema": {"type": "integer"}},
}
OTHER_ERROR = {
    "description": "Any other error, for example of a proxy. All responses can have these headers.",
    "headers": {"Retry-After": WAIT, **RATE},
    "content": {"application/json": {"schema": ERROR}},
}
# Types that programs take apart, here of a shape that no model describes; any other is a file of bytes.
READ_BY_CHECKERS = ("application/json", "text/event-stream")
METHODS = ("get", "post", "put", "patch", "delete")
blueprint = Blueprint("openapi", __name__)
KEPT = "fairboard_openapi"


def document() -> dict[str, Any]:
    """Return the document; call it within a request or an application's context, for the routes are asked."""
    models = deepcopy(SPEC.models)
    for form in filter(None, {known.takes_file for known in OPERATIONS.values()}):
        SPEC._add_model(model=form)
    made = _plain(SPEC._generate_spec())
    SPEC.models = models  # spectree takes the definitions of nested models out of them
    schemas = made["components"]["schemas"]
    power = schemas["MetricSettings"]["properties"]["power"]
    power["anyOf"] = [{"type": power.pop("type")}, {"type": "string"}]  # `inf` and `-inf`
    for name, schema in schemas.items():
        _describe(name, schema.get("properties", {}))
    paths = {path: made["paths"][path] for path in sorted(made["paths"])}
    for methods in paths.values():
        for described in methods.values():
            _complete(described, OPERATIONS[described["operationId"]], schemas)
    named = _named(paths, schemas)  # not the models of queries, which are parameters
    for name in named:
        if "properties" in schemas[name]:
            schemas[name]["examples"] = [_example(schemas[name], schemas)]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fairboard API", "version": version("fairboard"), "description": INTRODUCTION},
        "servers": [{"url": "/"}],
        "tags": sorted(made["tags"], key=lambda tag: str(tag["name"])),
        "paths": paths,
        "components": {
            "schemas": {name: schemas[name] for name in sorted(named)},
            "responses": {"Error": OTHER_ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _plain(part: Any) -> Any:
    """Return a part of the document without generated titles, and with the keywords of JSON Schema."""
    if isinstance(part, dict):
        return {
            KEYWORDS.get(name, name): _plain(value)
            for name, value in part.items()
            if name != "title" or not isinstance(value, str)
        }
    return [_plain(each) for each in part] if isinstance(part, list) else part


def _named(part: Any, schemas: dict[str, Any], found: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return `found` and the names of all models that a part of the document refers to."""
    if isinstance(part, dict):
        name = str(part.get("$ref", "")).removeprefix(SCHEMAS)
        if name in schemas and name not in found:
            found = _named(schemas[name], schemas, found | {name})
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            found = _named(each, schemas, found)
    return found


def _complete(described: dict[str, Any], known: Operation, schemas: dict[str, Any]) -> None:
    """Add what an operation needs of its asker, its files, its key and its errors."""
    described["security"] = [{"token": []}] if known.scope else [{}, {"token": []}]
    described["x-scope"] = known.scope.value if known.scope else None
    for parameter in described["parameters"]:
        _without_null(parameter["schema"])
        _describe(described["operationId"], {parameter["name"]: parameter["schema"]})
        parameter["description"] = parameter["schema"].pop("description", "")
    answers = described["responses"]
    answers.pop("422", None)
    for status, names in _errors(described["operationId"]):
        answers[status] = {
            "description": ", ".join(f"`{name}`" for name in names),
            "content": {"application/json": {"schema": ERROR}},
            "x-errors": names,
        }
    answers["default"] = {"$ref": "#/components/responses/Error"}
    if known.answers_file:
        for status, answer in answers.items():
            if status.startswith("2"):
                is_read = known.answers_file in READ_BY_CHECKERS
                schema = {} if is_read else {"type": "string", "format": "binary"}
                answer["content"] = {known.answers_file: {"schema": schema}}
    if known.takes_file:
        form = known.takes_file.__name__
        described["requestBody"] = {
            "required": True,
            "content": {
                "multipart/form-data": {"schema": {"$ref": SCHEMAS + form}},
                "application/octet-stream": {"schema": BINARY},
            },
        }
        for name, schema in (FILE_NAME | schemas[form]["properties"]).items():
            _without_null(schema)
            if schema.get("format") != "binary":
                sent = {keyword: value for keyword, value in schema.items() if keyword != "default"}
                words = {"required": False, "description": sent.pop("description", "")}
                described["parameters"].append({"name": name, "in": "query", **words, "schema": sent})
    if known.checks_version:
        described["parameters"].append(IF_MATCH)
    if known.creates or known.keeps_key:
        described["parameters"].append(KEY)
        first = answers[next(status for status in answers if status.startswith("2"))]
        if known.keeps_key:
            answers["200"] = first | {"description": REPLAY}
        else:
            first["headers"] = {"Idempotency-Replayed": REPLAYED}


def _errors(operation: str) -> list[tuple[str, list[str]]]:
    """Return the names of an operation's errors, by status."""
    own, usual = ERRORS[operation], ERRORS["*"]
    return [(status, own.get(status, []) + usual.get(status, [])) for status in sorted({*own, *usual})]


def _without_null(schema: dict[str, Any]) -> None:
    """Take null out of a parameter's schema: no address can hold it."""
    kinds = [each for each in schema.pop("anyOf", ()) if each != {"type": "null"}]
    schema |= kinds[0] if len(kinds) == 1 else {}
    if "default" in schema and schema["default"] is None:
        del schema["default"]


def _describe(owner: str, properties: dict[str, dict[str, Any]]) -> None:
    """Add a description and an example to properties of a model, or to parameters of an operation."""
    for name, schema in properties.items():
        usual = [] if "description" in schema else VOCABULARY.get(name, [])
        words = VOCABULARY.get(f"{owner}.{name}") or usual
        setting = SETTINGS.get(name) or METRIC_PARTS.get(name)
        if setting and (owner in SETTINGS_MODELS or not words):
            schema.setdefault("description", setting.description)
        if words:
            schema.setdefault("description", words[0])
        if len(words) > 1 and schema.get("type") != "null":
            schema["examples"] = [words[1]]


def _example(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """Return an example of a schema, composed of the examples of its parts."""
    if "$ref" in schema:
        return _example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "examples" in schema:
        return schema["examples"][0]
    if schema.get("default") is not None:
        return schema["default"]
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], schemas)
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return {name: _example(each, schemas) for name, each in schema["properties"].items()}
    if schema.get("type") == "array":
        return [_example(schema["items"], schemas)]
    return BY_FORMAT.get(schema.get("format", "")) or BY_TYPE.get(schema.get("type", ""), "text")


@blueprint.get("/api/openapi.json")
def description() -> ResponseReturnValue:
    """Return the OpenAPI document."""
    return conditional(_document())


@blueprint.get("/api")
def show() -> ResponseReturnValue:
    """Show the description of the API as a page."""
    described = _document()
    families: dict[str, list[dict[str, Any]]] = {tag["name"]: [] for tag in described["tags"]}
    for path, methods in described["paths"].items():
        for method in METHODS:
            if one := methods.get(method):
                families[one["tags"][0]].append({"path": path, "method": method.upper(), **one})
    return render_template(
        "openapi/show.html",
        introduction=markdown.render(described["info"]["description"]),
        markdown=markdown.render,
        families=families,
        scopes=SCOPES,
        schemas=described["components"]["schemas"],
    )


def _document() -> dict[str, Any]:
    """Return the document, which is made once for each process."""
    extensions = current_app.extensions
    if KEPT not in extensions:
        extensions[KEPT] = document()
    return extensions[KEPT]  # type: ignore[no-any-return]
