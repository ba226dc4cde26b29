"""Descriptions and examples of the API's properties and parameters, from vocabulary.toml and the settings."""

import tomllib
from pathlib import Path
from typing import Any

from grader.services.competitions.settings_model import METRIC_PARTS, SETTINGS

VOCABULARY: dict[str, list[Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SETTINGS_MODELS = ("CompetitionSettings", "SettingsShown", "MetricSettings", "Weights")
BY_FORMAT = {"date-time": "2030-01-31T12:00:00Z", "date": "2030-01-31"}
BY_TYPE = {"boolean": True, "integer": 1, "number": 0.5, "string": "text", "null": None, "object": {}}


def describe(owner: str, properties: dict[str, dict[str, Any]]) -> None:
    """Add a description and an example to properties of a model, or to parameters of an operation."""
    for name, schema in properties.items():
        usual = [] if "description" in schema else VOCABULARY.get(name, [])
        words = VOCABULARY.get(f"{owner}.{name}") or usual
        setting = SETTINGS.get(name) or METRIC_PARTS.get(name)
        if setting and (owner in SETTINGS_MODELS or not words):
            schema.setdefault("description", f"{setting.label}: {setting.meaning or setting.help}.")
        if words:
            schema.setdefault("description", words[0])
        if len(words) > 1 and schema.get("type") != "null":
            schema["examples"] = [words[1]]


def example(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """Return an example of a schema, composed of the examples of its parts."""
    if "$ref" in schema:
        return example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "examples" in schema:
        return schema["examples"][0]
    if schema.get("default") is not None:
        return schema["default"]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], schemas)
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return {name: example(each, schemas) for name, each in schema["properties"].items()}
    if schema.get("type") == "array":
        return [example(schema["items"], schemas)]
    return BY_FORMAT.get(schema.get("format", "")) or BY_TYPE.get(schema.get("type", ""), "text")
