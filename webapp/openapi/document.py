"""OpenAPI document, generated from the operations and their pydantic models."""

import inspect
import re
import tomllib
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from flask import Blueprint, Response, current_app
from flask.typing import ResponseReturnValue
from werkzeug.routing import Rule

from grader.services.competitions.metric import NamedMetric
from grader.services.competitions.settings_model import METRIC_PARTS, NAMED_PARTS, SETTINGS
from webapp.http.api import KEY_HEADER, OPERATIONS, Operation
from webapp.http.fields import ErrorAnswer
from webapp.http.responses import conditional

JSON = "application/json"
_PART = re.compile(r"<((?:\w+(?:\([^)]*\))?:)?)(\w+)>")  # of a route: converter, name
INTRODUCTION = (
    "The API offers everything that the pages of a Fairboard site offer. Create a token on your account "
    "page and send it as `Authorization: Bearer TOKEN`. Bodies are JSON in UTF-8. Times are in UTC. A list "
    "has the field `next`, which is the URL of its next part or null. Breaking changes are made only in a "
    "new version of the API. New fields can be added to responses at any time."
)
SCHEMAS = "#/components/schemas/"
# Names that pydantic uses instead of JSON Schema keywords for fields with a validator.
KEYWORDS = {"ge": "minimum", "le": "maximum"}
BINARY = {"type": "string", "format": "binary"}
FILE_NAME = {
    "file_name": {"type": "string", "description": "The file's name, if the whole body is the file."}
}
KEY = {
    "name": KEY_HEADER,
    "in": "header",
    "required": False,
    "description": "A unique key of your choice. Repeated requests with the same key take effect once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The ETag that you read. If the resource has changed since, the request fails with 412.",
    "schema": {"type": "string"},
}
REPLAY = "The response to a repeated request with the same Idempotency-Key."
# Descriptions and examples of properties and parameters, by name.
VOCABULARY: dict[str, list[Any]] = tomllib.loads(
    Path(__file__).with_name("vocabulary.toml").read_text("utf-8")
)
SETTINGS_MODELS = ("CompetitionSettings", "SettingsShown", "MetricSettings", "Weights")
WAIT = {"description": "The number of seconds to wait before trying again.", "schema": {"type": "integer"}}
RATE = {
    "RateLimit-Limit": {
        "description": "The maximum number of requests of this kind.",
        "schema": {"type": "integer"},
    },
    "RateLimit-Remaining": {
        "description": "The number of remaining requests.",
        "schema": {"type": "integer"},
    },
    "RateLimit-Reset": {
        "description": "The number of seconds until the limit resets.",
        "schema": {"type": "integer"},
    },
}
ERROR = {
    "description": "An error. Any response can include these headers.",
    "headers": {"Retry-After": WAIT, **RATE},
    "content": {"application/json": {"schema": {"$ref": SCHEMAS + "Error"}}},
}
# Media types that contract checkers parse. No model describes their shape, so the schema is empty. Any other
# type is a binary file.
READ_BY_CHECKERS = ("application/json",)
blueprint = Blueprint("openapi", __name__)
KEPT = "fairboard_openapi"


def document() -> dict[str, Any]:
    """Return the OpenAPI document. Requires an application context, because it reads the routes."""
    known = OPERATIONS.values()
    shown = {each.answers for each in known if each.answers is not None}
    sent = {model for each in known for model in (each.query, each.takes, each.takes_file) if model}
    schemas = _schemas(ErrorAnswer, *shown, mode="serialization") | _schemas(*sent, mode="validation")
    power = schemas["MetricSettings"]["properties"]["power"]
    power["anyOf"] = [{"type": power.pop("type")}, {"type": "string"}]  # `inf` and `-inf`
    for name, schema in schemas.items():
        _describe(name, schema.get("properties", {}))
    paths: dict[str, Any] = {}
    for rule in current_app.url_map.iter_rules():
        name = rule.endpoint.removeprefix("api.")
        if rule.endpoint.startswith("api."):
            (method,) = (rule.methods or set()) - {"HEAD", "OPTIONS"}
            path = _PART.sub(r"{\2}", rule.rule)
            paths.setdefault(path, {})[method.lower()] = _described(name, rule, schemas)
    paths = {path: paths[path] for path in sorted(paths)}
    named = _named([paths, ERROR], schemas)  # this excludes query models, which become parameters
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fairboard API", "version": version("fairboard"), "description": INTRODUCTION},
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in sorted({known.tag for known in OPERATIONS.values()})],
        "paths": paths,
        "components": {
            "schemas": {name: schemas[name] for name in sorted(named)},
            "responses": {"Error": ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(*models: Any, mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """Return the schemas of models and of the models in their fields, by name."""
    found: dict[str, Any] = {}
    for model in models:
        made = _plain(model.model_json_schema(mode=mode, ref_template=SCHEMAS + "{model}"))
        found |= made.pop("$defs", {})
        found[model.model_config.get("title") or model.__name__] = made
    return found


def _described(name: str, rule: Rule, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the description of an operation."""
    known = OPERATIONS[name]
    summary, _, text = inspect.cleandoc(known.about).partition("\n")
    content = {}
    if known.answers is not None:
        content = {"content": {JSON: {"schema": {"$ref": SCHEMAS + known.answers.__name__}}}}
    described: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "description": " ".join(text.split()),
        "tags": [known.tag],
        "parameters": [_in_path(*each) for each in _PART.findall(rule.rule)],
        "responses": {str(known.status): {"description": HTTPStatus(known.status).phrase, **content}},
    }
    if known.query is not None:
        # Descriptions for the operation precede those for the model.
        properties = _schemas(known.query, mode="validation")[known.query.__name__]["properties"]
        described["parameters"] += [
            {"name": each, "in": "query", "required": False, "schema": dict(properties[each])}
            for each in properties
        ]
    if known.takes is not None:
        body = {"schema": {"$ref": SCHEMAS + known.takes.__name__}}
        described["requestBody"] = {"required": True, "content": {JSON: body}}
    _complete(described, known, schemas)
    return described


def _in_path(converter: str, name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if converter == "int:":
        schema = {"type": "integer", "format": "int32"}
    elif converter.startswith("any("):
        schema["enum"] = converter[4:-2].split(", ")
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _plain(part: Any) -> Any:
    """Return a part of the document without generated titles, and with JSON Schema keywords."""
    if isinstance(part, dict):
        return {
            KEYWORDS.get(name, name): _plain(value)
            for name, value in part.items()
            if name != "title" or not isinstance(value, str)
        }
    return [_plain(each) for each in part] if isinstance(part, list) else part


def _named(part: Any, schemas: dict[str, Any], names: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return `found` and the names of all models to which a part of the document refers."""
    if isinstance(part, dict):
        name = str(part.get("$ref", "")).removeprefix(SCHEMAS)
        if name in schemas and name not in names:
            names = _named(schemas[name], schemas, names | {name})
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            names = _named(each, schemas, names)
    return names


def _complete(described: dict[str, Any], known: Operation, schemas: dict[str, Any]) -> None:
    """Add security, files, headers and errors to an operation."""
    described["security"] = [{"token": []}] if known.scope else [{}, {"token": []}]
    described["x-scope"] = known.scope.value if known.scope else None
    for parameter in described["parameters"]:
        _without_null(parameter["schema"])
        _describe(described["operationId"], {parameter["name"]: parameter["schema"]})
        parameter["description"] = parameter["schema"].pop("description", "")
    answers = described["responses"]
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
    if known.keeps_key:
        described["parameters"].append(KEY)
        first = answers[next(status for status in answers if status.startswith("2"))]
        answers["200"] = first | {"description": REPLAY}


def _without_null(schema: dict[str, Any]) -> None:
    """Remove null from a parameter's schema, because a URL cannot contain it."""
    kinds = [each for each in schema.pop("anyOf", ()) if each != {"type": "null"}]
    schema |= kinds[0] if len(kinds) == 1 else {}
    if "default" in schema and schema["default"] is None:
        del schema["default"]


def _describe(owner: str, properties: dict[str, dict[str, Any]]) -> None:
    """Add descriptions and examples to a model's properties or an operation's parameters."""
    for name, schema in properties.items():
        usual = [] if "description" in schema else VOCABULARY.get(name, [])
        words = VOCABULARY.get(f"{owner}.{name}") or usual
        parts = NAMED_PARTS if owner == NamedMetric.__name__ else METRIC_PARTS
        setting = SETTINGS.get(name) or parts.get(name)
        if setting and (owner in SETTINGS_MODELS or not words):
            schema.setdefault("description", setting.description)
        if words:
            schema.setdefault("description", words[0])
        if len(words) > 1 and schema.get("type") != "null":
            schema["examples"] = [words[1]]


@blueprint.get("/api/openapi.json")
def description() -> ResponseReturnValue:
    """Return the OpenAPI document, which is made once per process."""
    if KEPT not in current_app.extensions:
        current_app.extensions[KEPT] = current_app.json.dumps(document()) + "\n"
    return conditional(Response(current_app.extensions[KEPT], mimetype="application/json"))
