"""OpenAPI document, generated from the operations and their pydantic models."""

import inspect
import re
import tomllib
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from flask import Blueprint, current_app, jsonify
from flask.typing import ResponseReturnValue
from pydantic import BaseModel

from grader.services.competitions.metric import NamedMetric
from grader.services.competitions.settings_model import METRIC_PARTS, NAMED_PARTS, SETTINGS
from webapp.http.api import KEY_HEADER, OPERATIONS
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
HEADERS = {
    "Retry-After": "The number of seconds to wait before trying again.",
    "RateLimit-Limit": "The maximum number of requests of this kind.",
    "RateLimit-Remaining": "The number of remaining requests.",
    "RateLimit-Reset": "The number of seconds until the limit resets.",
}
ERROR = {
    "description": "An error. Any response can include these headers.",
    "headers": {name: {"description": text, "schema": {"type": "integer"}} for name, text in HEADERS.items()},
    "content": {JSON: {"schema": {"$ref": SCHEMAS + "Error"}}},
}
# Descriptions and examples of properties and parameters, by name.
VOCABULARY: dict[str, list[Any]] = tomllib.loads(
    Path(__file__).with_name("vocabulary.toml").read_text("utf-8")
)
SETTINGS_MODELS = ("CompetitionSettings", "MetricSettings", "Weights")
blueprint = Blueprint("openapi", __name__)


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document. Requires an application context, because it reads the routes."""
    schemas: dict[str, Any] = {}
    schemas["Error"] = _schema(ErrorAnswer, schemas, mode="serialization")
    paths: dict[str, Any] = {}
    for rule in sorted(current_app.url_map.iter_rules(), key=lambda rule: _PART.sub(r"{\2}", rule.rule)):
        if rule.endpoint.startswith("api."):
            (method,) = (rule.methods or set()) - {"HEAD", "OPTIONS"}
            described = _operation(rule.endpoint.removeprefix("api."), rule.rule, schemas)
            paths.setdefault(_PART.sub(r"{\2}", rule.rule), {})[method.lower()] = described
    power = schemas["MetricSettings"]["properties"]["power"]
    power["anyOf"] = [{"type": power.pop("type")}, {"type": "string"}]  # `inf` and `-inf`
    for name, schema in schemas.items():
        _describe(name, schema.get("properties", {}))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fairboard API", "version": version("fairboard"), "description": INTRODUCTION},
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in sorted({known.tag for known in OPERATIONS.values()})],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": {"Error": ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(name: str, rule: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the description of an operation; add the schemas of its models."""
    known = OPERATIONS[name]
    summary, _, text = inspect.cleandoc(known.about).partition("\n")
    answer: dict[str, Any] = {"description": HTTPStatus(known.status).phrase}
    if known.answers is not None:
        answer["content"] = {JSON: {"schema": _reference(known.answers, schemas, mode="serialization")}}
    elif known.answers_file:
        content = {} if known.answers_file == JSON else BINARY  # no model describes the shape of this JSON
        answer["content"] = {known.answers_file: {"schema": content}}
    responses = {str(known.status): answer, "default": {"$ref": "#/components/responses/Error"}}
    parameters = [_in_path(*each) for each in _PART.findall(rule)]
    if known.query is not None:
        parameters += _in_query(_schema(known.query, schemas)["properties"])
    body: dict[str, Any] = {}
    texts = dict(FILE_NAME)
    if known.takes is not None:
        form = {"schema": _reference(known.takes, schemas)}
        body = {JSON: form}
    if known.takes is not None and known.takes_file:
        body = {"multipart/form-data": form, "application/octet-stream": {"schema": BINARY}}
        fields = schemas[known.takes.__name__]["properties"]
        _describe(known.takes.__name__, fields)
        for field, schema in fields.items():
            fields[field] = _without_null(schema)
            if schema.get("format") != "binary":  # A default in the URL would override the form's field.
                texts[field] = {key: value for key, value in schema.items() if key != "default"}
        parameters += _in_query(texts)
    for parameter in parameters:
        _describe(name, {parameter["name"]: parameter["schema"]})
        parameter["description"] = parameter["schema"].pop("description", "")
    if known.checks_version:
        parameters.append(IF_MATCH)
    if known.keeps_key:
        parameters.append(KEY)
        replay = "The response to a repeated request with the same Idempotency-Key."
        responses["200"] = answer | {"description": replay}
    return {
        "operationId": name,
        "summary": summary,
        "description": " ".join(text.split()),
        "tags": [known.tag],
        "security": [{"token": [known.scope.value]}] if known.scope else [{}, {"token": []}],
        "parameters": parameters,
        **({"requestBody": {"required": True, "content": body}} if body else {}),
        "responses": responses,
    }


Mode = Literal["validation", "serialization"]


def _reference(model: type[BaseModel], schemas: dict[str, Any], *, mode: Mode = "validation") -> Any:
    """Add the schema of a model; return a reference to it."""
    schemas[model.__name__] = _schema(model, schemas, mode=mode)
    return {"$ref": SCHEMAS + model.__name__}


def _schema(model: type[BaseModel], schemas: dict[str, Any], *, mode: Mode = "validation") -> Any:
    """Return the schema of a model; add those of the models in its fields."""
    made = _plain(model.model_json_schema(mode=mode, ref_template=SCHEMAS + "{model}"))
    parts = made.pop("$defs", {})
    if mode == "serialization":
        for each in (made, *parts.values()):
            if each.get("additionalProperties") is False:
                del each["additionalProperties"]  # later releases can add fields to responses
    schemas.update(parts)
    return made


def _in_path(converter: str, name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if converter == "int:":
        schema = {"type": "integer", "format": "int32"}
    elif converter.startswith("any("):
        schema["enum"] = converter[4:-2].split(", ")
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(properties: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in properties.items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field without null, which neither a URL nor a form can contain."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    kept = {key: value for key, value in schema.items() if key != "anyOf" and value is not None}
    return kept | (kinds[0] if len(kinds) == 1 else {})


def _plain(part: Any) -> Any:
    """Return a part of the document without generated titles."""
    if isinstance(part, dict):
        return {
            name: _plain(value)
            for name, value in part.items()
            if name != "title" or not isinstance(value, str)
        }
    return [_plain(each) for each in part] if isinstance(part, list) else part


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
    """Return the OpenAPI document."""
    return conditional(jsonify(document()))
