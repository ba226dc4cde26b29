"""OpenAPI document: validity, models, enums, parameters, replays."""

import re
from typing import Any

import pytest

from grader.settings import Settings
from webapp.app import create_app
from webapp.openapi.document import VOCABULARY

SCORE = re.compile(r"(\w+_)?score(_before|_after)?")


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    app = create_app(Settings(data_dir=tmp_path_factory.mktemp("site")))
    found: dict[str, Any] = app.test_client().get("/api/openapi.json").json
    return found


def parts(part):
    """Yield all objects in a part of the document."""
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from parts(each)


def operations(described):
    return {one["operationId"]: one for methods in described["paths"].values() for one in methods.values()}


def fields_of(schema):
    return [*schema.get("properties", {}).items()]


def model_of(schema):
    return schema["$ref"].rpartition("/")[2]


def kinds(schema):
    """Return the alternatives that a property allows."""
    return schema.get("anyOf", [schema])


def models_of(part, schemas):
    """Return the names of all models that a part of the document refers to."""
    found: set[str] = set()
    todo = [part]
    while todo:
        named = {model_of(each) for each in parts(todo.pop()) if "$ref" in each}
        todo += [schemas[name] for name in named & schemas.keys() - found]
        found |= named & schemas.keys()
    return found


def test_the_document_is_valid_and_uses_only_json_schema_keywords(described):
    # Their imports take a second, which every test process would spend.
    from openapi_spec_validator import validate

    validate(described)
    assert not [part for part in parts(described) if {"ge", "le", "gt", "lt"} & part.keys()]
    assert not [name for name in described["components"]["schemas"] if "." in name or "__" in name]


def test_responses_may_gain_fields_and_requests_reject_unknown_ones(described):
    schemas, found = described["components"]["schemas"], operations(described).values()
    answers = models_of([one["responses"] for one in found], schemas)
    requests = models_of([one.get("requestBody") for one in found], schemas)
    closed = {name for name, one in schemas.items() if one.get("additionalProperties") is False}
    assert not answers & closed
    assert requests & {name for name, one in schemas.items() if "properties" in one} <= closed
    assert answers | requests == schemas.keys()


def test_the_form_and_parameters_of_uploads_are_documented(described):
    found = operations(described)
    fields = {
        "submit": {"description", "again"},
        "upload_solution": {"test"},
        "upload_data_file": {"description"},
        "add_baseline": {"name"},
    }
    for operation, names in fields.items():
        content = found[operation]["requestBody"]["content"]
        model = content["multipart/form-data"]["schema"]["$ref"].rpartition("/")[2]
        properties = described["components"]["schemas"][model]["properties"]
        assert properties.keys() == names | {"file"}
        asked = {each["name"]: each for each in found[operation]["parameters"] if each["in"] == "query"}
        assert asked.keys() == names - {"test"} | {"file_name"}
        # A generated client sends defaults in the URL, where they would override the form's field.
        assert not [name for name, each in asked.items() if "default" in each["schema"]]


def test_every_score_is_a_number_and_every_problem_has_the_same_shape(described):
    properties = [
        (field, about)
        for one in described["components"]["schemas"].values()
        for field, about in one.get("properties", {}).items()
    ]
    scores = [kind["type"] for field, about in properties if SCORE.fullmatch(field) for kind in kinds(about)]
    assert len(scores) > 12
    assert set(scores) <= {"number", "null"}
    shapes = [kinds(about)[0]["items"] for field, about in properties if field in ("problems", "notes")]
    assert len(shapes) > 5
    assert all(shape == {"$ref": "#/components/schemas/Problem"} for shape in shapes)
    assert set(described["components"]["schemas"]["Problem"]["required"]) == {"code", "message"}


def test_all_properties_parameters_and_models_have_a_description(described):
    schemas = described["components"]["schemas"]
    places = {f"{name}.{field}": about for name, one in schemas.items() for field, about in fields_of(one)}
    places |= schemas
    for name, one in operations(described).items():
        places |= {f"{name}.{each['name']}": each for each in one["parameters"]}
    missing = [place for place, about in places.items() if not about.get("description", "").strip()]
    assert not missing, f"Describe in webapp/openapi/vocabulary.toml: {missing}"
    unused = {name for name in VOCABULARY if name not in places} - {
        place.rpartition(".")[2] for place in places
    }
    assert not unused


def test_examples_match_their_schemas(described):
    from openapi_schema_validator import OAS31Validator

    schemas = described["components"]["schemas"]
    for name, one in schemas.items():
        for field, about in [("", one), *fields_of(one)]:
            for given in about.get("examples", ()):
                validator = OAS31Validator(about | {"components": described["components"]})
                assert not list(validator.iter_errors(given)), (name, field, given)
