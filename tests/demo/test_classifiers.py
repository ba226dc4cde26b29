import numpy as np
import pandas as pd
import pytest

from grader.demo.classifiers import MODELS, Model, write_predictions
from grader.demo.dataset import generate


@pytest.fixture(scope="module")
def dataset():
    return generate(train_rows=1500, test_rows=300)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_model_writes_one_finite_reproducible_prediction_per_id(model: Model, dataset, tmp_path):
    for name in ("one.csv", "two.csv"):
        write_predictions(model, dataset.train, dataset.test, tmp_path / name)
    sent = pd.read_csv(tmp_path / "one.csv")
    assert list(sent.columns) == ["id", "prediction"]
    assert sent["id"].tolist() == dataset.test["id"].tolist()
    assert np.isfinite(sent["prediction"]).all()
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_no_model_reads_the_identities_of_the_test_set(dataset):
    assert not set(dataset.test.columns) & set(dataset.solution.columns) - {"id"}


def test_at_least_a_dozen_teams_take_part_and_some_submit_two_files():
    teams = [model.team for model in MODELS]
    assert len(set(teams)) >= 12
    assert len(teams) > len(set(teams))
    assert len({model.name for model in MODELS}) == len(MODELS)


def test_masking_makes_comments_with_different_identities_equal(dataset):
    masked = next(model for model in MODELS if model.name == "masked")
    texts = ["This gay teacher is friendly.", "This muslim teacher is friendly."]
    first, second = masked.predict(dataset.train, texts)
    assert first == second
