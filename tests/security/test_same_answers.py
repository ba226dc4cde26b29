"""File checks, rejections and notes: byte-identical for different hidden solutions."""

import gzip
import io
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.services.site import monitoring
from tests.fixtures.examples import examples
from tests.fixtures.worlds import OPENS, SLUG, Truth

pytestmark = pytest.mark.system

API = "/api/v1"
VALUES = (
    *("x", "", "nan", "-inf", "1e999", "0,5", '"0.5"', " 0.25 "),
    *("\u0661", "1_0", "0x1p-3", "-0", "true", "\x00"),
)
HEADERS = (
    *("id,prediction", "prediction,id", "id;prediction", "ID,Prediction"),
    *("id,p", "id", "", "7000000,0.5"),
)
WRAPPINGS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": bytes,
    "with a BOM": lambda file: b"\xef\xbb\xbf" + file,
    "with CRLF": lambda file: file.replace(b"\n", b"\r\n"),
    "with tabs": lambda file: file.replace(b",", b"\t"),
    "in UTF-16": lambda file: file.decode().encode("utf-16"),
    "gzipped": lambda file: gzip.compress(file, mtime=0),
    "cut": lambda file: file[: len(file) * 2 // 3],
    "twice": lambda file: file + file,
    "with junk": lambda file: file + b"\xff\xfe\x00",
}
SCORES = ("public_score", "standard_errors", "terms", "weakest_term", "identities")
places = st.integers(0, 319)
changes = st.one_of(
    st.tuples(st.just("drop"), places),
    st.tuples(st.just("repeat"), places),
    st.tuples(st.just("value"), places, st.sampled_from(VALUES)),
    st.tuples(st.just("id"), places, st.sampled_from(("9", "7000001", "-1", "", "7000000.0", " 7000002"))),
    st.tuples(st.just("more"), places, st.sampled_from((",", ",1", ',"'))),
    st.tuples(st.just("header"), st.just(0), st.sampled_from(HEADERS)),
)


@pytest.fixture(scope="module")
def pair(make_world):
    """Two worlds with the same row ids but unrelated labels, identities and splits."""
    truth = Truth.first()
    one = make_world(truth)
    one.begin()
    other = make_world(truth.with_everything_else())
    other.begin()
    return one, other


@examples(25)
@given(made=st.lists(changes, max_size=4), wrapping=st.sampled_from(sorted(WRAPPINGS)))
def test_file_gets_the_same_response_for_any_solution(pair, made, wrapping):
    file = WRAPPINGS[wrapping](_changed(pair[0].sent.predictions(3), made))
    one, other = (_answers(world, file) for world in pair)
    assert one == other


def test_metrics_of_the_site_are_the_same_for_any_solution(pair):
    readings = []
    for world in pair:
        with world.arena.database.read() as session:
            readings.append(monitoring.gauges(session, now=OPENS))
    assert readings[0] == readings[1]
    assert any(each.values.get(("scored",)) for each in readings[0])


def _changed(file, made):
    header, *rows = file.decode().splitlines()
    for kind, place, *what in made:
        row_id, _, value = rows[place % len(rows)].partition(",")
        match kind:
            case "drop":
                del rows[place % len(rows)]
            case "repeat":
                rows.append(rows[place % len(rows)])
            case "value":
                rows[place % len(rows)] = f"{row_id},{what[0]}"
            case "id":
                rows[place % len(rows)] = f"{what[0]},{value}"
            case "more":
                rows[place % len(rows)] += what[0]
            case "header":
                header = what[0]
    return "\n".join([header, *rows]).encode() + b"\n"


def _answers(world, file):
    """Return the responses to a check and an upload, the submission, and its page, without scores."""
    bob, api = world.people["Bob"], world.arena.app.test_client()
    with world.undone():
        checked, sent = (
            api.post(
                f"{API}/competitions/{SLUG}/{verb}",
                data={"file": (io.BytesIO(file), "p.csv"), "again": "true"},
                headers=bob.bearer,
            )
            for verb in ("check", "submissions")
        )
        world.arena.score_all()
        answers = [checked.status, checked.get_data(), sent.status, sent.get_data()]
        if sent.status_code == 201:
            told = api.get(f"{API}/submissions/{sent.json['id']}", headers=bob.bearer).json
            answers.append({key: value for key, value in told.items() if key not in SCORES})
            assert told["status"] in ("scored", "rejected")
            assert (told["status"] == "scored") == checked.json["is_clean"]
        return answers
