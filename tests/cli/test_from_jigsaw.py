"""`--from-jigsaw`: Kaggle's published test files as a solution and as a competition."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from fairboard import bias_report
from grader.files.solution import jigsaw

# The header of both files.
HEADER = (
    "id,comment_text,created_date,publication_id,parent_id,article_id,rating,funny,wow,sad,likes,disagree,"
    "toxicity,severe_toxicity,obscene,sexual_explicit,identity_attack,insult,threat,male,female,transgender,"
    "other_gender,heterosexual,homosexual_gay_or_lesbian,bisexual,other_sexual_orientation,christian,jewish,"
    "muslim,hindu,buddhist,atheist,other_religion,black,white,asian,latino,other_race_or_ethnicity,"
    "physical_disability,intellectual_or_learning_disability,psychiatric_or_mental_illness,other_disability,"
    "identity_annotator_count,toxicity_annotator_count"
)
COLUMNS = HEADER.split(",")
PUBLIC, PRIVATE = jigsaw.FILES


@pytest.fixture
def table():
    rng = np.random.default_rng(19)
    rows = 2400
    ids = 7_000_000 + rng.permutation(rows)
    frame = pd.DataFrame({name: rng.integers(0, 9, rows) for name in COLUMNS})
    annotated = rng.random(rows) < 0.7
    for name in COLUMNS[12:43]:
        frame[name] = rng.integers(0, 11, rows) / 10
        if name in COLUMNS[19:]:
            frame[name] = frame[name].where(annotated)
    texts = [f'She said "{row}",\nand more é' for row in ids]
    return frame.assign(id=ids, comment_text=texts, rating="approved", created_date="2017-03-20 15:38:50+00")


@pytest.fixture
def folder(table, tmp_path):
    assert len(COLUMNS) == 45  # MLE-bench asserts the same number
    (tmp_path / "kaggle").mkdir()
    table[:1200].to_csv(tmp_path / "kaggle" / PUBLIC, index=False)
    table[1200:].to_csv(tmp_path / "kaggle" / PRIVATE, index=False)
    return tmp_path / "kaggle"


@pytest.fixture
def submission(table, tmp_path):
    noise = np.random.default_rng(2).random(len(table))
    predictions = pd.DataFrame({"id": table["id"], "prediction": table["toxicity"] / 2 + noise})
    predictions.sample(frac=1, random_state=1).to_csv(tmp_path / "submission.csv", index=False)
    return tmp_path / "submission.csv"


def test_both_splits_are_scored_to_the_last_digit(table, folder, submission, run_json):
    code, found = run_json("score", "--from-jigsaw", folder, submission)
    assert code == 0
    predictions = pd.read_csv(submission).set_index("id")["prediction"]
    for split, part in (("public", table[:1200]), ("private", table[1200:]), ("all", table)):
        identities = {name: part[name] for name in jigsaw.IDENTITIES}
        expected = bias_report(part["toxicity"], predictions[part["id"]], identities)
        assert found["splits"][split] == expected.as_dict()
    for name in jigsaw.FILES:
        content = (folder / name).read_bytes()
        (folder / name).unlink()
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr(name, content)
    assert run_json("score", "--from-jigsaw", folder, submission) == (0, found)


def test_rows_are_sorted_and_values_are_copied_as_text(table, folder, tmp_path):
    solution = jigsaw.write_jigsaw(jigsaw.read_jigsaw(folder), tmp_path)
    rows = pd.read_csv(solution, dtype="str", keep_default_na=False)
    assert list(rows.columns) == ["id", "toxicity", *jigsaw.IDENTITIES, "Usage"]
    source = pd.concat(pd.read_csv(folder / n, dtype="str", keep_default_na=False) for n in jigsaw.FILES)
    source = source.sort_values("id")
    assert rows["id"].is_monotonic_increasing
    for name in rows.columns[:-1]:
        assert rows[name].tolist() == source[name].tolist()
    texts = pd.read_csv(tmp_path / "test.csv")
    assert dict(zip(texts["id"], texts["comment_text"], strict=True)) == dict(
        zip(table["id"], table["comment_text"], strict=True)
    )


def test_missing_repeated_and_wrong_files_are_reported(folder, submission, run):
    def problems() -> str:
        result = run("score", "--from-jigsaw", folder, submission)
        assert result.exit_code == 2
        return result.stderr

    public, private = ((folder / name).read_bytes() for name in (PUBLIC, PRIVATE))
    (folder / PUBLIC).write_bytes(private)
    assert "already occurs on line" in problems()
    pd.read_csv(io.BytesIO(public))[["id", "comment_text"]].to_csv(folder / PUBLIC, index=False)
    assert f"{PUBLIC} cannot be read" in problems() and "toxicity" in problems()
    (folder / PUBLIC).unlink()
    assert f"{PUBLIC} cannot be read" in problems()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_competition_gets_the_identities_the_splits_and_the_texts(folder, host):
    result = host("competition", "create", "jigsaw-2019", "--from-jigsaw", folder)
    assert result.exit_code == 0, result.output
    assert "2,400 rows" in result.stdout and "9 identities" in result.stdout
    assert "public 1,200 rows" in result.stdout
    shown = host("competition", "settings", "jigsaw-2019").stdout
    assert jigsaw.TITLE in shown
    assert all(name in shown for name in jigsaw.IDENTITIES)
    assert host("competition", "data", "jigsaw-2019").stdout.startswith("test.csv: passed")
