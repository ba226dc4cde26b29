import numpy as np
import pandas as pd
import pytest

from grader.demo.corpus import IDENTITIES, IDENTITY_WORDS
from grader.demo.dataset import Dataset, generate


@pytest.fixture(scope="module")
def dataset():
    return generate()


def test_same_seed_generates_the_same_files(dataset: Dataset, tmp_path):
    dataset.write(tmp_path / "one")
    generate().write(tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_another_seed_generates_other_comments(dataset: Dataset):
    other = generate(seed=1, train_rows=100, test_rows=300)
    assert other.train["comment_text"].tolist() != dataset.train["comment_text"][:100].tolist()


@pytest.mark.parametrize("split", ["Public", "Private"])
@pytest.mark.parametrize("version", ["solution", "corrected_solution"])
def test_every_identity_has_25_rows_of_each_label_in_each_split(dataset: Dataset, split, version):
    solution = getattr(dataset, version)
    rows = solution[solution["Usage"] == split]
    toxic = rows["target"] >= 0.5
    for name in IDENTITIES:
        mentioned = rows[name] >= 0.5
        assert (mentioned & toxic).sum() >= 25, name
        assert (mentioned & ~toxic).sum() >= 25, name


def test_identities_overlap_and_some_rows_are_not_annotated(dataset: Dataset):
    annotations = dataset.solution[list(IDENTITIES)]
    assert ((annotations >= 0.5).sum(axis=1) >= 2).sum() > 500
    assert annotations.isna().all(axis=1).sum() > 1000


def test_annotated_identity_appears_in_the_text(dataset: Dataset):
    for name, words in IDENTITY_WORDS.items():
        texts = dataset.train.loc[dataset.train[name] >= 0.5, "comment_text"].str.lower()
        assert texts.str.contains("|".join(words)).all(), name


def test_some_identities_are_attacked_more_often_in_training_than_in_the_test_set(dataset: Dataset):
    def toxic_share(frame: pd.DataFrame) -> float:
        return float((frame.loc[frame["muslim"] >= 0.5, "target"] >= 0.5).mean())

    assert toxic_share(dataset.train) > 0.6
    assert toxic_share(dataset.solution) < 0.5


def test_correction_keeps_every_id_and_changes_only_labels_and_usage(dataset: Dataset):
    before, after = dataset.solution, dataset.corrected_solution
    assert before["id"].tolist() == after["id"].tolist()
    turned = (before["target"] >= 0.5) != (after["target"] >= 0.5)
    assert turned.sum() == 200
    assert set(after.loc[before["Usage"] != after["Usage"], "Usage"]) == {"Ignored"}
    pd.testing.assert_frame_equal(before[list(IDENTITIES)], after[list(IDENTITIES)])


def test_participants_receive_no_labels_or_identities_of_the_test_set(dataset: Dataset):
    assert list(dataset.test.columns) == ["id", "comment_text"]
    assert np.array_equal(dataset.test["id"], dataset.solution["id"])
