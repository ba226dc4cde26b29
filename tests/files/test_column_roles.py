"""Column roles of a solution, guessed or chosen, and their stored texts and numbers."""

import numpy as np
import pytest

from grader.files import (
    ColumnRole,
    FileRejected,
    guess_columns,
    read_solution,
    with_named,
)
from grader.files.solution import rows as rows_module

HEADER = "id,comment,target,obscene,female,black,language,template,rating,Usage"


def table(rows=200):
    lines = [HEADER]
    for row in range(rows):
        cells = [f"c{row}", f"text {row}", "1" if row % 3 else "0", "0.25", "" if row % 2 else "0.5", "0"]
        cells += [("en", "de", "")[row % 3], f"t{row // 2}", str(row), ("Public", "Private")[row % 2]]
        lines.append(",".join(cells))
    return ("\n".join(lines) + "\n").encode()


ROLES = {guess.name: guess.role for guess in guess_columns(table())}


def test_every_column_is_assigned_a_role_by_its_name_and_values():
    assert ROLES == {
        "id": ColumnRole.ID,
        "comment": ColumnRole.UNUSED,
        "target": ColumnRole.LABEL,
        "obscene": ColumnRole.OTHER_LABEL,
        "female": ColumnRole.IDENTITY,
        "black": ColumnRole.IDENTITY,
        "language": ColumnRole.SLICE,
        "template": ColumnRole.PAIR,
        "rating": ColumnRole.UNUSED,
        "Usage": ColumnRole.USAGE,
    }


@pytest.mark.parametrize("header", ["Id", "ID"])
def test_names_are_guessed_in_any_case(header):
    guesses = guess_columns(f"{header},Toxicity,usage\n1,1,Public\n".encode())
    assert [guess.role for guess in guesses] == [ColumnRole.ID, ColumnRole.LABEL, ColumnRole.USAGE]


def test_columns_for_analyses_are_stored():
    solution = read_solution(table(), roles=ROLES)
    assert solution.roles.identities == ("female", "black")
    assert solution.roles.having(ColumnRole.UNUSED) == ("comment", "rating")
    assert solution.other_labels["obscene"].tolist() == [0.25] * 200
    assert solution.slices["language"].values == ("en", "de")
    assert solution.slices["language"].codes[:4].tolist() == [0, 1, -1, 0]
    assert solution.pair is not None
    assert [solution.pair.values[code] for code in solution.pair.codes[:4]] == ["t0", "t0", "t1", "t1"]


def test_all_errors_of_a_choice_are_reported_together():
    roles = ROLES | {"id": ColumnRole.UNUSED, "black": ColumnRole.LABEL}
    with pytest.raises(FileRejected) as rejection:
        read_solution(table(), roles=roles)
    assert {problem.code for problem in rejection.value.problems} == {"missing_id", "several_labels"}


def problem_lines(data, **choice):
    """Return the lines of each problem."""
    with pytest.raises(FileRejected) as rejection:
        read_solution(data, **choice)
    return [problem.lines for problem in rejection.value.problems]


SLIPS = ["-1", "1.5", "yes", "NaN"]


def with_slip(line, column, value, rows=1500):
    """Return a table with one replaced cell."""
    lines = table(rows).decode().splitlines()
    cells = lines[line - 1].split(",")
    cells[HEADER.split(",").index(column)] = value
    lines[line - 1] = ",".join(cells)
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("line", [21, 1400], ids=["near the top", "below the rows of the proposal"])
@pytest.mark.parametrize("value", SLIPS)
def test_one_invalid_value_never_drops_an_identity_silently(line, value):
    data = with_slip(line, "black", value)
    assert {guess.name: guess.role for guess in guess_columns(data)}["black"] is ColumnRole.IDENTITY
    declared = {"language": ColumnRole.SLICE}
    assert problem_lines(data, named=declared) == [(line,)]
    assert read_solution(data, label="target", identities=["female"]).roles.identities == ("female",)


def test_splits_under_another_name_are_found_by_their_values():
    roles = {guess.name: guess.role for guess in guess_columns(table().replace(b"Usage", b"split", 1))}
    assert roles["split"] is ColumnRole.USAGE
    both = table().replace(b"rating,Usage", b"split,Usage", 1).replace(b",7,", b",Public,")
    assert {guess.name: guess.role for guess in guess_columns(both)}["Usage"] is ColumnRole.USAGE


def test_named_role_overrides_a_guess():
    roles = with_named(ROLES, {"rating": ColumnRole.LABEL, "Usage": ColumnRole.USAGE})
    assert (roles["rating"], roles["target"]) == (ColumnRole.LABEL, ColumnRole.OTHER_LABEL)
    assert roles["Usage"] is ColumnRole.USAGE


@pytest.mark.parametrize("size", [1, 7, 199])
def test_the_number_of_rows_at_once_does_not_change_the_values(size, monkeypatch):
    once = read_solution(table(), roles=ROLES)
    monkeypatch.setattr(rows_module, "_ROWS_AT_ONCE", size)
    again = read_solution(table(), roles=ROLES)
    assert (again.row_ids, again.labels.tolist()) == (once.row_ids, once.labels.tolist())
    assert again.slices["language"].texts() == once.slices["language"].texts()
    assert problem_lines(table() + b"c0\nc0,t,0,0,0,0,en,t1,1,Public\n", roles=ROLES) == [(202,), (203,)]


CODINGS = {
    "R": ["TRUE", "FALSE", "NA"],
    "numbers and NA": ["0", "1", "NA"],
    "minus one": ["-1", "1"],
    "percentages": ["0%", "50 %", "33.3%", "100%"],
    "decimal commas": ['"0,0"', '"1,0"', '"0,5"'],
}


@pytest.mark.parametrize("coding", CODINGS)
def test_another_coding_of_yes_and_no_is_never_dropped_silently(coding):
    values = CODINGS[coding]
    lines = [f"{row},{row % 2},{row % 3 % 2},{values[row * 7 % 11 % len(values)]}" for row in range(60)]
    data = "\n".join(["id,target,male,other", *lines, ""]).encode()
    with pytest.raises(FileRejected, match="the role of 'other' is unclear"):
        read_solution(data)
    assert read_solution(data, identities=["male"]).roles.identities == ("male",)
    with pytest.raises(FileRejected):
        read_solution(data, label="other")


@pytest.mark.parametrize("values", [("f", "m"), ("NA", "NA"), ("7", "1990")])
def test_column_with_the_name_of_an_identity_is_never_dropped_silently(values):
    lines = [f"{row},{row % 2},{values[row % 3 % 2]}" for row in range(600)]
    with pytest.raises(FileRejected, match="the identity 'Female' is"):
        read_solution("\n".join(["id,target,Female", *lines]).encode())


def noise(rows, digits):
    return [str(value) for value in np.random.default_rng(rows).random(rows).round(digits)]


@pytest.mark.parametrize("rows", [10, 200, 1500])
def test_continuous_and_empty_columns_are_never_proposed(rows):
    lines = [f"{row},{row % 2},{row % 3 % 2},{value},,{value}" for row, value in enumerate(noise(rows, 6))]
    data = "\n".join(["id,target,male,fringe,parent_id,white", *lines, ""]).encode()
    with pytest.raises(FileRejected, match="the role of 'fringe' is unclear"):
        read_solution(data)
    # Jigsaw's annotations of known names are continuous.
    assert read_solution(data, named={"fringe": ColumnRole.UNUSED}).roles.identities == ("male", "white")
    assert read_solution(data, identities=["male", "fringe"]).roles.identities == ("male", "fringe")


def test_annotations_of_an_unknown_identity_are_guessed():
    values = ["0", "0", "0", "0.25", "0.5", "0.333333", "1", ""]
    lines = [f"{row},{row % 2},{values[row * 5 % 8]}" for row in range(400)]
    assert read_solution("\n".join(["id,target,nun", *lines]).encode()).roles.identities == ("nun",)


@pytest.mark.parametrize("digits", [1, 3])
def test_other_prediction_columns_are_not_identities(digits):
    pairs = zip(noise(400, digits), noise(401, digits), strict=False)
    lines = [f"{row % 2},{row % 3 % 2},{a},{b}" for row, (a, b) in enumerate(pairs)]
    data = "\n".join(["target,male,model_a,model_b", *lines]).encode()
    assert read_solution(data, predictions=["model_a"]).roles.identities == ("male",)


def test_identity_that_is_blank_in_the_sample_is_found():
    lines = [f"{row},{row % 2},{row % 2 if row > 1200 else ''}" for row in range(1500)]
    assert read_solution("\n".join(["id,target,late", *lines]).encode()).roles.identities == ("late",)
