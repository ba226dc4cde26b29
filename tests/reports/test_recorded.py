"""Complete reports, compared with recorded reports.

After an intended change, record them again with `python -m tests.reports.test_recorded`.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairboard import MetricSettings
from grader.files import read_solution
from grader.files.solution.roles import ColumnRole
from grader.reports import Material, analyse, plain_text

FOLDER = Path(__file__).with_name("recorded")
ROWS = 120
ROLES = {
    "id": ColumnRole.ID,
    "toxic": ColumnRole.LABEL,
    "insult": ColumnRole.OTHER_LABEL,
    "cat": ColumnRole.IDENTITY,
    "dog": ColumnRole.IDENTITY,
    "<rare>": ColumnRole.IDENTITY,
    "length": ColumnRole.SLICE,
    "pair": ColumnRole.PAIR,
    "role": ColumnRole.SLICE,
    "group": ColumnRole.SLICE,
    "Usage": ColumnRole.USAGE,
}


def solution():
    """Return rows in fixed patterns; the first 40 form pairs and have the Usage `Ignored`."""
    lines = [",".join(ROLES)]
    for row in range(ROWS):
        pair, usage = ",,", "Public" if row % 2 else "Private"
        if row < 40:
            pair, usage = f"{row // 2},{('anti', 'pro')[row % 2]},{'FM'[row % 4 // 2]}", "Ignored"
        insult = (row * 7 % 10) / 10
        cat, dog = "" if row % 11 == 5 else int(row % 3 == 0), (row * 3 % 8) / 8
        size = ("long", "short", "tiny")[row % 7 % 3]
        lines.append(
            f"r{row},{row * 5 % 12 < 5:d},{insult},{cat},{dog},{row in (50, 53):d},{size},{pair},{usage}"
        )
    return read_solution("\n".join(lines).encode(), roles=ROLES)


def _predictions(truth, seed):
    return np.round(truth.labels + (np.arange(ROWS) * seed % 31) / 20, 3)


def _compared():
    truth = solution()
    ours, theirs = _predictions(truth, 7), _predictions(truth, 17)
    return Material(
        truth,
        {"ours": {"toxic": ours, "insult": 1 - ours}, "theirs": {"toxic": theirs}},
        Material(truth, {"": {"toxic": np.round(ours * 0.9, 3), "insult": 1 - ours}}, minimum_size=3),
        minimum_size=3,
        lowest=1,
    )


def _alone():
    truth = replace(solution(), other_labels={}, pair=None, slices={})
    return Material(
        truth,
        {
            "submission": {"toxic": np.where(np.arange(ROWS) % 2, 1e-5, 2e-5)},
            "other": {"toxic": np.full(ROWS, 0.5)},
        },
        background="annotated",
        settings=MetricSettings(undefined="skip", power=-1),
    )


def _nobody():
    truth = solution()
    return Material(
        truth, {"submission": {"toxic": np.full(ROWS, 1500.0)}}, split="private", minimum_size=ROWS
    )


def _data():
    return Material(solution(), minimum_size=1)


def _data_of_one_label():
    truth = replace(solution(), other_labels={})
    settings = MetricSettings(label_threshold=0.3, identity_threshold=0.7)
    return Material(truth, split="private", background="annotated", settings=settings)


def _data_without_identities():
    return Material(replace(solution(), identities={}))


CASES: dict[str, Callable[[], Material]] = {
    each.__name__.strip("_"): each
    for each in (_compared, _alone, _nobody, _data, _data_of_one_label, _data_without_identities)
}


def recorded(report):
    """Return a report as text with digests of each section's data and of each chart."""
    data = [
        f"data {key} {_digest(f'{name}: {_rounded(leaf)}' for name, leaf in _leaves(value, ''))}"
        for key, value in report.as_dict().items()
    ]
    charts = [
        f"chart {table.caption!r} {_digest([_without_decimals(table.svg)])}"
        for section in report.sections
        for table in section.tables
        if table.svg
    ]
    return "\n".join([plain_text(report), "", *data, *charts, ""])


def _leaves(value, key):
    nested = enumerate(value) if isinstance(value, list | tuple) else ()
    items = value.items() if isinstance(value, dict) else nested
    if not items:
        yield key, value
    for name, each in items:
        yield from _leaves(each, f"{key}.{name}")


def _rounded(value):
    """Return a JSON leaf with only as many digits as every platform computes identically."""
    return f"{round(value, 6) + 0.0:.5g}" if isinstance(value, float) else json.dumps(value)


def _without_decimals(svg):
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.0f}", svg)


def _digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", CASES)
def test_report_equals_its_recording(name):
    assert recorded(analyse(CASES[name]())) == (FOLDER / f"{name}.txt").read_text()


if __name__ == "__main__":
    for name, inputs in CASES.items():
        (FOLDER / f"{name}.txt").write_text(recorded(analyse(inputs())))
