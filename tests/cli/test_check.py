"""`fairboard competition check`: reports without server, database or settings."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli import main

SOLUTION = Callable[..., bytes]


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """A function that checks a file in an empty folder and returns the exit code and the output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")

    def check(solution: bytes, *options: str, test: bytes | None = None) -> tuple[int, str]:
        Path("solution.csv").write_bytes(solution)
        if test is not None:
            Path("test.csv").write_bytes(test)
            options = (*options, "--test", "test.csv")
        with pytest.raises(SystemExit) as end:
            main(["competition", "check", "solution.csv", *options])
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out + printed.err

    return check


def test_a_solution_for_another_metric_is_described(check):
    rows = [f"{row},{row % 7},{'ab'[row % 2]}" for row in range(200)]
    solution = "\n".join(["id,price,city", *rows]).encode()
    options = ("--metric", "rmse", "--role", "price=label", "--groups", "city")
    code, text = check(solution, *options, test=b"id\n" + b"\n".join(str(row).encode() for row in range(200)))
    assert "Label: price." in text, text
    assert "city" in text and code in (0, 2)
    assert check(solution, "--metric", "rmse", "--columns", "price")[0] == 1
    assert check(solution, "--columns", "price")[0] == 1


def ids(rows):
    return ("id\n" + "".join(f"r{row}\n" for row in range(rows))).encode()


def test_a_valid_solution_is_described(check, solution_csv):
    code, text = check(solution_csv(), test=ids(400))
    assert code == 0, text
    assert "400 rows, split by usage: public 200 rows" in text
    assert "2 identities are in the score: female, muslim." in text
    assert "test.csv has exactly the 400 ids of the solution." in text
    assert not Path("var").exists()


def test_a_solution_with_problems_exits_with_2(check, solution_csv):
    code, text = check(solution_csv(), test=ids(399))
    assert code == 2
    assert "Stop: The file test.csv lacks 1 id of the solution: 'r399';" in text


def test_roles_can_be_specified(check, solution_csv):
    csv = solution_csv().replace(b"toxicity", b"verdict", 1)
    code, text = check(csv)
    assert code == 2 and "role label" in text
    code, text = check(csv, "--role", "verdict=label", "--role", "muslim=unused", "--json")
    report = json.loads(text)
    assert code == 0
    assert (report["label"], report["unused_columns"]) == ("verdict", ["muslim"])
