"""Capacity estimates: laws of the computation, agreement with the code, and the command."""

import json
import math
from dataclasses import asdict, replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from grader import capacity
from grader.capacity import Load
from grader.cli import main
from grader.settings import Settings
from grader.worker import sweeper

LOADS = st.builds(
    Load,
    teams=st.integers(1, 100_000),
    rows=st.integers(1, 2_000_000),
    uploads_per_minute=st.floats(0, 10_000),
    views_per_minute=st.floats(0, 100_000),
    submissions=st.integers(1, 10_000_000),
)
NUMBERS = sorted(name for name, kind in capacity.Capacity.__annotations__.items() if kind in (int, float))


@given(LOADS, LOADS, st.floats(0.1, 10), st.floats(1, 10))
def test_more_of_anything_never_needs_less(load: Load, other: Load, slowness: float, factor: float):
    values = asdict(load)
    for name, value in asdict(other).items():
        more = replace(load, **{name: max(values[name], value)})
        before, after = capacity.of(load, slowness=slowness), capacity.of(more, slowness=slowness * factor)
        assert [each for each in NUMBERS if getattr(after, each) < getattr(before, each)] == []
        assert after.needs_postgresql >= before.needs_postgresql


@given(LOADS, st.integers(2, 10))
def test_sizes_and_rates_are_proportional_to_the_submissions_and_the_peak(load: Load, times: int):
    once = capacity.of(load)
    many = capacity.of(
        replace(
            load,
            submissions=times * load.submissions,
            uploads_per_minute=times * load.uploads_per_minute,
            views_per_minute=times * load.views_per_minute,
        )
    )
    for name in (
        "blob_bytes",
        "rank_cache_bytes",
        "received_bits_per_second",
        "sent_bits_per_second",
    ):
        assert getattr(many, name) == pytest.approx(times * getattr(once, name), rel=1e-6, abs=times)
    assert many.upload_cpu_seconds == once.upload_cpu_seconds
    assert many.disk_bytes == pytest.approx(
        many.blob_bytes + many.database_bytes + many.rank_cache_bytes, abs=3
    )


@given(LOADS, st.floats(0.1, 10))
def test_every_process_and_core_stays_below_the_planned_utilization(load: Load, slowness: float):
    found = capacity.of(load, slowness=slowness)
    scoring = load.uploads_per_minute / 60 * found.score_cpu_seconds
    uploading = load.uploads_per_minute / 60 * found.upload_cpu_seconds
    assert scoring <= capacity.UTILIZATION * found.scoring_processes * (1 + 1e-9)
    assert uploading <= capacity.UTILIZATION * found.web_processes * (1 + 1e-9)
    assert scoring + uploading <= capacity.UTILIZATION * found.cores * (1 + 1e-9)
    assert found.connections >= capacity.WEB_THREADS * found.web_processes + found.scoring_processes


def test_constants_agree_with_the_settings_and_the_sweeper():
    assert Settings.model_fields["web_threads"].default == capacity.WEB_THREADS
    assert capacity.SWEEPER_CONNECTIONS == sweeper.CHILDREN + 12


def test_calibration_is_positive_and_finite():
    assert 0 < capacity.calibrate() < math.inf


def test_command_prints_a_table_or_json():
    arguments = ["capacity", "--teams", "500", "--rows", "100000", "--peak", "60"]
    table = CliRunner().invoke(main, arguments)
    assert table.exit_code == 0, table.output
    assert "500 teams, 10,000 submissions with 100,000 rows" in table.output
    assert "60 uploads and 600 page views" in table.output
    assert "18.7 GB" in table.output  # 10,000 files of 1.87 MB
    told = json.loads(CliRunner().invoke(main, [*arguments, "--submissions", "10", "--json"]).output)
    assert told["load"]["submissions"] == 10
    load = Load(**told["load"])
    assert told["needs"]["blob_bytes"] == capacity.of(load).blob_bytes == 18_700_000
    assert told["slowness"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--teams", "0", "--rows", "5", "--peak", "1"], "--teams"),
        (["--teams", "5", "--rows", "-1", "--peak", "1"], "--rows"),
        (["--teams", "5", "--rows", "1e5", "--peak", "1"], "--rows"),
        (["--teams", "5", "--rows", "5", "--peak", "-1"], "--peak"),
        (["--teams", "5", "--rows", "5", "--peak", "nan"], "finite"),
        (["--teams", "5", "--rows", "5", "--peak", "inf"], "--peak"),
        (["--teams", "5", "--rows", "5", "--peak", "1", "--submissions", "0"], "--submissions"),
        (["--teams", "5", "--rows", "5"], "--peak"),
    ],
)
def test_absurd_numbers_are_rejected(arguments: list[str], message: str):
    result = CliRunner().invoke(main, ["capacity", *arguments])
    assert result.exit_code == 2 or result.exit_code == 1
    assert message in result.output
