"""Fuzz tests of competition files: a successful read, or a rejection with all problems."""

import json
import tomllib

from hypothesis import example, given
from hypothesis import strategies as st

from grader.services.competitions import settings_file, settings_problems
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from tests.fixtures.examples import examples
from tests.fixtures.mutations import Mishap, mishaps

FILE = (
    settings_file.write("toxicity", CompetitionSettings(title='A "title"', rules="Be\nfair."))
    + '\n[files]\nsolution = "s.csv"\nlabel = "toxicity"\ndata = ["a", "b"]\n'
).encode()
PLACES = [
    f"{table}.{key}" if isinstance(keys, dict) else table
    for table, keys in tomllib.loads(FILE.decode()).items()
    for key in (keys if isinstance(keys, dict) else [""])
]
LARGEST_COUNT = 2**31 - 1  # The range of PostgreSQL's integer.
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(
        (
            "2026-01-01",
            "2026-01-01T00:00:00Z",
            "0001-01-01",
            "9999-12-31T23:59:59-12:00",
            "07:32:00",
            '"none"',
        )
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8).map(json.dumps),
    st.sampled_from(
        ("[]", "{}", "[1, 'a']", "{a = 1}", '["a", "a"]', "'''\n'''", "0x10", "1_0", "+inf", "-nan")
    ),
).map(lambda value: str(value).lower() if isinstance(value, bool | float | int) else value)


def read(text: str):
    """Read a file as the commands do; fail unless the result is storable settings or problems."""
    try:
        found = settings_file.read(text)
        problems = found.problems
    except InvalidCompetition as refused:
        problems = tuple(refused.problems)
        assert problems
    if problems:
        assert all(problem.strip().endswith((".", "?")) for problem in problems)
        return
    after = CompetitionSettings().changed(**found.changes)
    if not settings_problems.problems(after, is_draft=True):
        for name, value in dict(after).items():
            assert not isinstance(value, int) or value <= LARGEST_COUNT, name
            assert not isinstance(value, str) or "\0" not in value, name


@examples(200)
@given(mishaps())
def test_damaged_competition_file_is_read_or_rejected(what: Mishap):
    read(what.happen_to(FILE).decode(errors="replace"))


@examples(300)
@example("metric.power", "[" * 3000)
@example("metric.weights", "{ overall_auc = " + "9" * 400 + " }")
@given(st.sampled_from([*PLACES, "dates.closes", "dates.reveals", "entry.code", "metric", "dates"]), VALUES)
def test_any_value_of_any_key_is_read_or_rejected(place: str, value: str):
    read(f"{place} = {value}\n")
