"""Competition files: round trips, complete error reports."""

import math
import tomllib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard import MetricSettings, Weights
from grader.models import EntryMode, RevealRule
from grader.services.competitions import settings_file, settings_problems
from grader.services.competitions.metric import NamedMetric, metric_of
from grader.services.competitions.settings_model import KINDS, SETTINGS, CompetitionSettings, Kind
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.visibility import Feedback, Step

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
MOMENTS = st.none() | st.datetimes(timezones=st.just(UTC))
LIMITS = st.none() | st.integers(1, 10**6)
BIAS = st.builds(
    MetricSettings,
    power=st.floats(allow_nan=False),
    label_threshold=st.floats(allow_nan=False, allow_infinity=False),
    weights=st.sampled_from([Weights(), Weights(1, 0, 0, 0), Weights(0.1, 0.2, 0.3, 0.4)]),
)
CHOICES = {"feedback": Feedback, "feedback_step": Step, "entry_mode": EntryMode, "reveal_rule": RevealRule}
WRITTEN = st.fixed_dictionaries(
    {
        name: {Kind.DATE: MOMENTS, Kind.LIMIT: LIMITS}.get(KINDS[name], TEXT)
        for name in SETTINGS
        if KINDS.get(name) in (Kind.LINE, Kind.TEXT, Kind.DATE, Kind.LIMIT)
    }
    | {name: st.sampled_from(choices) for name, choices in CHOICES.items()}
    | {
        "identities": st.none() | st.lists(TEXT, max_size=3).map(tuple),
        "metric": BIAS | st.sampled_from([NamedMetric(name="rmse"), NamedMetric(name="map_at_k", cutoff=3)]),
        "takes_late_submissions": st.booleans(),
    }
)


@given(WRITTEN)
def test_written_file_reads_back_the_same(values):
    settings = CompetitionSettings(title="x").changed(**settings_problems.read(values)[0])
    file = settings_file.read(settings_file.write("slug", settings))
    assert file.slug == "slug"
    assert CompetitionSettings().changed(**file.changes) == settings


def test_date_without_a_time_is_a_days_last_minute_for_deadlines_and_first_for_the_opening():
    file = settings_file.read(
        "[dates]\nopens = 2027-01-02\ncloses = 2027-03-01\nreveals = 2027-03-05T12:00:00"
    )
    assert file.changes == {
        "opens_at": datetime(2027, 1, 2, tzinfo=UTC),
        "closes_at": datetime(2027, 3, 1, 23, 59, tzinfo=UTC),
        "reveals_at": datetime(2027, 3, 5, 12, tzinfo=UTC),
    }


def test_settings_missing_from_a_file_stay_unchanged():
    before = CompetitionSettings(metric=MetricSettings(power=-3, label_threshold=0.7))
    file = settings_file.read("[metric]\npower = -inf\n", before=before)
    assert file.changes == {"metric": metric_of(MetricSettings(power=-math.inf, label_threshold=0.7))}


def test_all_invalid_entries_are_reported_at_once():
    text = """
    slug = 5
    titel = "Typo"
    feedback = "all"
    [limits]
    daily = "five"
    pending = true
    [dates]
    closes = "soon"
    [metric]
    weights = { overall_auc = 2.0 }
    power = "much"
    [files]
    data = "train.csv"
    test = "test.csv"
    """
    with pytest.raises(InvalidCompetition) as refused:
        settings_file.read(text)
    problems = refused.value.problems
    named = {problem.removeprefix("The key ").split(":")[0].split(" is ")[0] for problem in problems}
    assert named == {
        *("slug", "titel", "feedback", "limits.daily", "limits.pending", "dates.closes"),
        *("metric.weights", "metric.power", "files.data", "files.test"),
    }
    assert len(problems) == len(named)


def test_file_that_is_not_toml_is_rejected_with_the_line_number():
    with pytest.raises(InvalidCompetition, match="line 1"):
        settings_file.read('slug = "a\nb = 1')


def test_files_that_define_a_competition_are_listed():
    text = '[files]\nsolution = "s.csv"\nlabel = "toxic"\nbaseline = "b.csv"\ndata = ["train.csv"]\n'
    file = settings_file.read(text)
    assert (file.solution, file.label, file.files) == ("s.csv", "toxic", ("s.csv", "b.csv", "train.csv"))


def test_long_texts_are_written_with_their_line_breaks():
    written = settings_file.write("slug", CompetitionSettings(overview='# Title\n\nSay "hello".'))
    assert "# Title\n\nSay" in written
    assert tomllib.loads(written)["texts"]["overview"] == '# Title\n\nSay "hello".'


@pytest.mark.parametrize("name", sorted(KINDS.keys() & SETTINGS.keys()))
def test_none_is_a_value_or_a_blank_of_each_setting_in_files_and_requests(name):
    expected: dict[Kind, object] = {Kind.DATE: None, Kind.LIMIT: None, Kind.LINE: "none", Kind.TEXT: "none"}
    expected |= {Kind.LINES: "none"}
    sent, faults = settings_problems.read({name: "none"})
    text = f'{SETTINGS[name].key} = "none"\n'
    if faults:
        with pytest.raises(InvalidCompetition):
            settings_file.read(text)
    else:
        assert settings_file.read(text).changes == sent
    if "none" in SETTINGS[name].choices:
        assert sent == {name: "none"} and not faults
    elif KINDS[name] in expected and name != "contact":
        assert sent == {name: expected[KINDS[name]]} and not faults
    else:
        assert faults
