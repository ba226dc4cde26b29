"""Competition files: round trips, complete error reports."""

import math
import re
import tomllib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard import MetricSettings, Weights
from grader.models import EntryMode, RevealRule
from grader.services.competitions import settings_file
from grader.services.competitions.settings_model import SETTINGS, CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.visibility import Feedback, Step

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=40)
MOMENTS = st.none() | st.datetimes(timezones=st.just(UTC))
LIMITS = st.none() | st.integers(1, 10**6)
WRITTEN = st.builds(
    CompetitionSettings().changed,
    title=TEXT,
    overview=TEXT,
    evaluation=TEXT,
    data_description=TEXT,
    rules=TEXT,
    positive_name=TEXT,
    negative_name=TEXT,
    row_name=TEXT,
    contact=TEXT,
    discussion_url=TEXT,
    opens_at=MOMENTS,
    closes_at=MOMENTS,
    entry_deadline=MOMENTS,
    reveals_at=MOMENTS,
    feedback=st.sampled_from(Feedback),
    feedback_step=st.sampled_from(Step),
    entry_mode=st.sampled_from(EntryMode),
    entry_code=st.none() | TEXT.filter(bool),
    reveal_rule=st.sampled_from(RevealRule),
    identities=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    min_class_rows=st.integers(1, 99),
    metric=st.builds(
        MetricSettings,
        power=st.floats(allow_nan=False),
        label_threshold=st.floats(allow_nan=False, allow_infinity=False),
        weights=st.sampled_from([Weights(), Weights(1, 0, 0, 0), Weights(0.1, 0.2, 0.3, 0.4)]),
    ),
    max_daily_submissions=LIMITS,
    max_total_submissions=LIMITS,
    takes_late_submissions=st.booleans(),
)


@given(WRITTEN)
def test_written_file_reads_back_the_same(settings: CompetitionSettings):
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
    assert file.changes == {"metric": MetricSettings(power=-math.inf, label_threshold=0.7)}


def test_all_invalid_entries_are_reported_at_once():
    text = """
    slug = 5
    titel = "Typo"
    feedback = "all"
    [limits]
    daily = "five"
    late = "yes"
    [dates]
    closes = "soon"
    [metric]
    weights = { overall_auc = 2.0 }
    power = "much"
    [files]
    data = "train.csv"
    """
    file = settings_file.read(text)
    for part in (
        "slug must be a text",
        "titel is unknown. Did you mean title?",
        '"open"',
        "limits.daily",
        "limits.late",
        "dates.closes",
        "metric.weights must sum to 1",
        "metric.power must be a number",
        "files.data",
    ):
        assert any(part in problem for problem in file.problems), part
    assert len(file.problems) == 9
    unread = {"title", "feedback", "max_daily_submissions", "takes_late_submissions", "closes_at"}
    assert file.unread == unread


def test_every_setting_has_its_section_in_a_file():
    keys = {setting.key for setting in SETTINGS.values()}
    assert {"limits.daily", "dates.reveals", "metric.identities", "title"} <= keys
    assert len(keys) == len(SETTINGS)
    written = settings_file.write("slug", CompetitionSettings())
    lines = {re.sub(r"^(# |\[)?(\w*).*", r"\2", line) for line in written.splitlines()}
    assert {key.rpartition(".")[2] for key in keys} <= lines


def test_file_that_is_not_toml_is_rejected_with_the_line_number():
    with pytest.raises(InvalidCompetition, match="line 1"):
        settings_file.read('slug = "a\nb = 1')


def test_files_that_define_a_competition_are_listed(tmp_path):
    text = '[files]\nsolution = "s.csv"\nlabel = "toxic"\nbaseline = "b.csv"\ndata = ["train.csv"]\n'
    file = settings_file.read(text)
    assert (file.solution, file.label, file.baseline, file.data) == (
        "s.csv",
        "toxic",
        "b.csv",
        ("train.csv",),
    )


def test_long_texts_are_written_unchanged():
    written = settings_file.write("slug", CompetitionSettings(overview='# Title\n\nSay "hello".'))
    assert "# Title\n\nSay" in written
    assert tomllib.loads(written)["texts"]["overview"] == '# Title\n\nSay "hello".'
