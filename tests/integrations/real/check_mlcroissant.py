"""Descriptions of result tables, validated and loaded by mlcroissant."""

import json
from datetime import UTC, datetime

import mlcroissant
import pytest

from grader.services.exports import croissant

BOARD = """rank,team,members,score,"weird, name",größe,submission,sha256,public_rank\r
1,"Aces, the",Ann; Alan,0.81234,0.5000,7,5,ab,2\r
2,Bob,Bob,-0.70000,,,6,cd,\r
"""
GROUPS = "rank,team,column,group,rows,score\r\n1,Aces,city,Oslo,40,0.5\r\n1,Aces,city,Rome,,\r\n"


@pytest.fixture
def described(tmp_path):
    tables = {"board": ("boards/board.csv", BOARD), "groups": ("groups.csv", GROUPS)}
    (tmp_path / "boards").mkdir()
    for address, content in tables.values():
        (tmp_path / address).write_bytes(content.encode())
    text = croissant.document(
        title="Toxicity",
        address="https://fairboard.example/competitions/toxicity",
        creators=["Root", "Vera"],
        number=2,
        published=datetime(2026, 3, 14, 23, 58, tzinfo=UTC),
        tables=tables,
    )
    path = tmp_path / "croissant.json"
    path.write_text(text)
    return path


def _records(path, name):
    return list(mlcroissant.Dataset(jsonld=str(path)).records(name))


def test_description_is_valid_except_for_the_license(described):
    dataset = mlcroissant.Dataset(jsonld=str(described))
    issues = dataset.metadata.ctx.issues
    assert issues.errors == set()
    assert [warning.split('"')[1] for warning in issues.warnings] == ["https://schema.org/license"]


def test_tables_are_loaded_with_their_types(described):
    first, second = _records(described, "board")
    assert first["board/rank"] == 1
    assert first["board/team"] == b"Aces, the"
    assert first["board/score"] == 0.81234
    assert (first["board/4"], first["board/größe"]) == (0.5, 7)
    assert (second["board/public_rank"], second["board/4"]) == (None, None)
    assert [row["groups/rows"] for row in _records(described, "groups")] == [40, None]


def test_damaged_description_is_rejected(described):
    content = json.loads(described.read_text())
    del content["recordSet"][0]["field"][0]["dataType"]
    described.write_text(json.dumps(content))
    with pytest.raises(mlcroissant.ValidationError):
        mlcroissant.Dataset(jsonld=str(described))
