"""`fairboard bakeoff`: files, term lists, output and exit codes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from grader.cli import main

TEXTS = ("A cat sleeps.", "The CATS fight", "concatenate this", "A dog, sleeping", "nothing here")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    labels = (rng.random(600) < 0.4).astype(int)
    lines = [f'r{row},{label},"{rng.choice(TEXTS)}"' for row, label in enumerate(labels)]
    (tmp_path / "comments.csv").write_text("\n".join(["id,target,comment_text", *lines]))
    for name, noise, scale in (("a", 0.3, 1), ("b", 3.0, 100)):
        values = scale * (labels + noise * rng.normal(size=600))
        rows = [f"r{row},{value:.6f}" for row, value in enumerate(values)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,prediction", *rows]))
    (tmp_path / "terms.txt").write_text("cat=cat,cats\n\ndog=dog\n")
    return tmp_path


def run(folder: Path, *words: str):
    names = (".csv", ".html", ".md", ".parquet", ".txt")
    arguments = [str(folder / word) if word.endswith(names) else word for word in words]
    return CliRunner().invoke(main, ["bakeoff", *arguments])


def test_report_is_printed_as_text_with_identities_from_terms(folder: Path):
    result = run(folder, "comments.csv", "b.csv", "a.csv", "--terms", "terms.txt")
    assert result.exit_code == 0, result.output
    assert "a is recommended: its score is higher than that of b on these 600 rows." in result.stdout
    assert "2 identities" in result.stdout


def test_html_and_model_card_are_written_and_the_recommendation_is_printed(folder: Path):
    files = ("--html", "report.html", "--model-card", "card.md")
    result = run(folder, "comments.csv", "a.csv", "b.csv", "--terms", "terms.txt", *files)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("a is recommended")
    assert "<h1>Bake-off of 2 candidates</h1>" in (folder / "report.html").read_text()
    assert "# a\n" in (folder / "card.md").read_text()


def test_json_has_thresholds_on_each_candidates_own_scale(folder: Path):
    words = ("--identity", "cat=cat,cats", "--cost-missed", "2", "--json")
    result = run(folder, "comments.csv", "a.csv", "b.csv", *words)
    costs = json.loads(result.stdout)["costs"]
    assert 0 < costs["a"]["threshold"] < 1 and costs["b"]["threshold"] < 100
    assert set(costs["a"]["rates"]) == {"", "cat"}


def test_exit_code_is_6_if_no_candidate_can_be_recommended(folder: Path):
    (folder / "copy.csv").write_text((folder / "a.csv").read_text())
    result = run(folder, "comments.csv", "a.csv", "copy.csv", "--terms", "terms.txt")
    assert result.exit_code == 6
    assert "a and copy cannot be separated on these 600 rows." in result.stdout


def test_problems_of_all_candidates_are_reported_together(folder: Path):
    (folder / "bad.csv").write_text("id,prediction\nr0,x\n")
    (folder / "worse.csv").write_text("nothing\n")
    result = run(folder, "comments.csv", "bad.csv", "a.csv", "worse.csv", "--terms", "terms.txt")
    assert result.exit_code == 2
    assert f"- {folder / 'bad.csv'}: Line 2" in result.stderr
    assert f"- {folder / 'worse.csv'}: Line 1" in result.stderr


def test_all_wrong_term_lists_are_reported_together(folder: Path):
    (folder / "terms.txt").write_text("cat=cat\nno list\ndog=dog,\ncat=kitten\n")
    result = run(folder, "comments.csv", "a.csv", "--terms", "terms.txt")
    assert result.exit_code == 1
    assert all(
        f"'{line}' must be NAME=term,term" in result.stderr for line in ("no list", "dog=dog,", "cat=kitten")
    )


def test_missing_identities_or_texts_are_explained(folder: Path):
    assert (
        "has no identity columns. Use --terms or --identity." in run(folder, "comments.csv", "a.csv").stderr
    )
    wrong = run(folder, "comments.csv", "a.csv", "--terms", "terms.txt", "--text", "body")
    assert wrong.exit_code == 1
    assert "Choose the column with the comments: --text id | target | comment_text." in wrong.stderr
    absent = run(folder, "comments.csv", "a.csv", "--identity", "newt=newt")
    assert "No identity is mentioned in at least 1 row." in absent.stderr


def test_identity_columns_are_guessed_and_term_lists_add_or_replace_identities(folder: Path):
    path = folder / "comments.csv"
    first, *lines = path.read_text().splitlines()
    path.write_text(
        "\n".join([f"{first},dog", *(f"{line},{number % 2}" for number, line in enumerate(lines))])
    )
    assert run(folder, "comments.csv", "a.csv", "b.csv").exit_code == 0
    both = run(folder, "comments.csv", "a.csv", "--identity", "cat=cat", "--json")
    assert list(json.loads(both.stdout)["costs"]["a"]["rates"]) == ["", "dog", "cat"]
    replaced = run(folder, "comments.csv", "a.csv", "--identity", "dog=dog", "--json")
    sizes = [json.loads(each.stdout)["terms"]["a"]["subgroups"][0]["size"] for each in (both, replaced)]
    assert sizes == [300, path.read_text().count("A dog")]


def test_candidates_with_equal_file_names_are_named_by_their_paths(folder: Path):
    (folder / "old").mkdir()
    (folder / "old" / "a.csv").write_text((folder / "b.csv").read_text())
    result = run(folder, "comments.csv", "a.csv", "old/a.csv", "--terms", "terms.txt", "--json")
    assert json.loads(result.stdout)["recommendation"]["candidates"] == [
        str(folder / "a.csv"),
        str(folder / "old" / "a.csv"),
    ]


@pytest.mark.parametrize("cost", ["0", "-1", "nan", "inf"])
def test_costs_must_be_finite_and_above_0(folder: Path, cost: str):
    result = run(folder, "comments.csv", "a.csv", "--terms", "terms.txt", "--cost-missed", cost)
    assert result.exit_code == 1
    assert "--cost-missed" in result.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a.csv", "--html", "a.csv"), "a.csv would be overwritten"),
        (("a.csv", "--html", "x.html", "--model-card", "x.html"), "x.html would be overwritten"),
        (("a.csv", "b.csv", "a.csv"), "These candidates are specified more than once: "),
    ],
)
def test_no_file_is_overwritten_or_compared_with_itself(folder: Path, words: tuple[str, ...], told: str):
    before = (folder / "a.csv").read_bytes()
    result = run(folder, "comments.csv", *words, "--terms", "terms.txt")
    assert result.exit_code == 1
    assert told in result.stderr
    assert (folder / "a.csv").read_bytes() == before


def test_parquet_files_give_the_report_of_csv_files(folder: Path):
    for name in ("comments", "a"):
        pd.read_csv(folder / f"{name}.csv").to_parquet(folder / f"{name}.parquet", engine="pyarrow")
    words = ("b.csv", "--terms", "terms.txt", "--json")
    expected = run(folder, "comments.csv", "a.csv", *words)
    found = run(folder, "comments.parquet", "a.parquet", *words)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout) == json.loads(expected.stdout)


def test_identities_that_are_not_columns_are_rejected(folder: Path):
    result = run(folder, "comments.csv", "a.csv", "--identity", "cat=cat", "--identities", "target,cats")
    assert result.exit_code == 1 and "The table has no column 'cats'" in result.stderr


def test_names_of_candidates_have_one_line(folder: Path):
    odd = "a\n# b\x1b: [c](d)"
    (folder / f"{odd}.csv").write_text((folder / "a.csv").read_text())
    words = ("b.csv", "--terms", "terms.txt", "--model-card", "card.md", "--json")
    result = run(folder, "comments.csv", f"{odd}.csv", *words)
    assert json.loads(result.stdout)["recommendation"]["recommended"] == "a # b : [c](d)"
    assert "\n# a # b : \\[c\\](d)\n" in (folder / "card.md").read_text()


def test_costs_refer_to_the_given_share_of_harmful_comments(folder: Path):
    words = ("comments.csv", "a.csv", "--terms", "terms.txt", "--cost-missed", "5", "--json")
    found = json.loads(run(folder, *words, "--harmful-share", "0.01").stdout)["costs"]["a"]
    comments, candidate = (pd.read_csv(folder / f"{name}.csv") for name in ("comments", "a"))
    positive = comments["target"] == 1
    costs = {}
    for threshold in (np.inf, *candidate["prediction"]):
        flagged = candidate["prediction"] >= threshold
        costs[threshold] = 0.99 * flagged[~positive].mean() + 0.01 * 5 * (~flagged[positive]).mean()
    best = min(costs.values())
    assert found["cost"] == pytest.approx(best)
    assert costs[found["threshold"]] == pytest.approx(best)
    assert found["cost"] < json.loads(run(folder, *words).stdout)["costs"]["a"]["cost"]
    assert "0 is not in the range" in run(folder, *words, "--harmful-share", "0").stderr.replace("0.0", "0")
