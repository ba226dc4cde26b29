"""Fields of the read models: entries in the visibility table, and permitted viewers."""

from collections.abc import Mapping
from typing import get_args

import pytest
from pydantic import BaseModel

from grader.services.identity.api_tokens import Scope
from grader.visibility import Feedback, Field, Phase, Viewer, visible
from tests.fixtures.parameters import reads
from tests.fixtures.worlds import SLUG, Truth
from webapp.http.api import OPERATIONS

pytestmark = pytest.mark.system

API = "/api/v1"
HERE = f"{API}/competitions/toxicity"
AUCS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
GAPS = ("positive_aeg", "negative_aeg")
PRIVATE = {
    field: Field(field.value.replace("public", "private")) for field in Field if "public" in field.value
}
COMPETITION = dict.fromkeys(
    ("slug", "title", "state", "phase", "opens_at", "closes_at", "rows"), Field.COMPETITION
)
TOLD_OF_ONE = (
    "classes",
    "paused",
    "rules",
    "rules_version",
    "must_join",
    "entry_mode",
    "divisions",
    "is_entry_open",
    "entry_deadline",
    "merger_deadline",
    "reveals_at",
    "anonymity",
    "max_team_size",
    "max_daily_submissions",
    "max_total_submissions",
    "selection_count",
    "feedback",
    "feedback_note",
    "metric",
    "boards",
    "stages",
)
ON_A_PAGE = (
    "next",
    "page",
    "page_size",
    "page_count",
    "found_count",
    "team_count",
    "split",
    "board",
    "scoring_version",
    "row_share",
)
LINE = {
    **dict.fromkeys(
        (
            "team",
            "team_id",
            "alias",
            "division",
            "members",
            "is_benchmark",
            "entries",
            "last_submitted_at",
        ),
        Field.TEAM,
    ),
    **dict.fromkeys(("rank", "rank_change", "public_rank"), Field.PUBLIC_RANK),
    "score": Field.PUBLIC_SCORE,
    "standard_error": Field.PUBLIC_SCORE,
    "terms": Field.PUBLIC_TERMS,
    "submission": Field.COUNTED,
    "worst_group": Field.PUBLIC_IDENTITIES,
}
BOARD = {
    **dict.fromkeys(ON_A_PAGE, Field.COMPETITION),
    **{f"{place}.{key}": field for place in ("rows", "own") for key, field in LINE.items()},
    "own": Field.PUBLIC_RANK,
}
RESULT = {
    "score": Field.PUBLIC_SCORE,
    "terms": Field.PUBLIC_TERMS,
    "identities": Field.PUBLIC_IDENTITIES,
    "groups": Field.PUBLIC_IDENTITIES,
    **{f"identities.{cell}": Field.PUBLIC_IDENTITIES for cell in ("name", *AUCS)},
    **{f"identities.{cell}": Field.PUBLIC_GAPS for cell in GAPS},
}
COUNTED = {
    **dict.fromkeys(("submission", "team", "rank", "team_count"), Field.COUNTED),
    **{f"public.{key}": field for key, field in RESULT.items()},
    **{f"private.{key}": PRIVATE[field] for key, field in RESULT.items()},
}
FILE = (
    "id",
    "competition",
    "status",
    "kind",
    "file_name",
    "description",
    "submitted_at",
    "finished_at",
    "file_deleted_at",
)
OWN = {
    **dict.fromkeys((*FILE, "problems", "notes", "incident"), Field.FILE),
    "is_selected": Field.SELECTION,
    "standard_errors": Field.PUBLIC_TERMS,
    "standard_errors.score": Field.PUBLIC_SCORE,
    "weakest_term": Field.PUBLIC_TERMS,
    "public_score": Field.PUBLIC_SCORE,
    **{key: field for key, field in RESULT.items() if key != "score"},
    **{f"private_{key}": PRIVATE[field] for key, field in RESULT.items()},
}
LIST = {
    **{f"submissions.{key}": field for key, field in OWN.items()},
    "submissions": Field.FILE,
    "selection": Field.SELECTION,
    "limits": Field.ALLOWANCE,
    "next": Field.FILE,
    "page_size": Field.FILE,
}
TEAM = {
    **dict.fromkeys(("entry", "accepted_rules_version", "joined_at", "invitations"), Field.TEAM_AFFAIRS),
    **dict.fromkeys(("team.id", "team.name", "team.division", "team.members", "team.leader"), Field.TEAM),
    "team": Field.TEAM_AFFAIRS,
    "limits": Field.ALLOWANCE,
    "selection": Field.SELECTION,
}
RESULTS = {
    **dict.fromkeys(("lines.submission_id", "lines.file_name", "lines.description"), Field.FILE),
    **dict.fromkeys(("lines.submitted_at", "lines.is_late"), Field.FILE),
    **dict.fromkeys(("team", "team_count", "disqualification"), Field.TEAM_AFFAIRS),
    **dict.fromkeys(("lines.is_picked", "lines.counted", "selection_count"), Field.SELECTION),
    **dict.fromkeys(("lines", "lines.private_score"), Field.PRIVATE_SCORE),
    "lines.public_score": Field.PUBLIC_SCORE,
    "rank": Field.PRIVATE_RANK,
    "public_rank": Field.PUBLIC_RANK,
}
RESCORED = {
    **dict.fromkeys(("number", "replaced_number", "published_at", "text"), Field.COMPETITION),
    **dict.fromkeys(("submissions.submission_id", "submissions.file_name"), Field.FILE),
    "submissions": Field.FILE,
    **dict.fromkeys(("submissions.before", "submissions.after"), Field.PUBLIC_SCORE),
}
Fields = tuple[Viewer, Mapping[str, Field]]
# The reads of participants and visitors, by operation, with their readers and the fields of their keys.
READERS: dict[str, Fields] = {
    "competition_list": (
        Viewer.PUBLIC,
        {f"competitions.{key}": field for key, field in COMPETITION.items()}
        | dict.fromkeys(("competitions", "next", "page_size"), Field.COMPETITION),
    ),
    "competition": (Viewer.PUBLIC, COMPETITION | dict.fromkeys(TOLD_OF_ONE, Field.COMPETITION)),
    "competition_pages": (
        Viewer.PUBLIC,
        dict.fromkeys(("overview", "evaluation", "data", "rules", "announcements"), Field.COMPETITION),
    ),
    "data_file_list": (Viewer.PUBLIC, dict.fromkeys(("files", "next"), Field.COMPETITION)),
    "public_log": (Viewer.PUBLIC, dict.fromkeys(("entries", "page_size", "next"), Field.COMPETITION)),
    "last_rescoring": (Viewer.TEAM, RESCORED),
    "leaderboard": (Viewer.PUBLIC, BOARD | {"rows": Field.PUBLIC_RANK}),
    "counted": (Viewer.PUBLIC, COUNTED | {"public": Field.COUNTED, "private": Field.COUNTED}),
    "own_results": (Viewer.TEAM, RESULTS),
    "team": (Viewer.TEAM, TEAM),
    "team_of_link": (Viewer.TEAM, dict.fromkeys(("name", "members", "invited_by"), Field.TEAM_AFFAIRS)),
    "waiting_list": (Viewer.TEAM, {"waiting": Field.TEAM_AFFAIRS}),
    "submission_list": (Viewer.TEAM, LIST),
    "submission": (Viewer.TEAM, OWN),
    "submission_losses": (
        Viewer.TEAM,
        {"terms": Field.PUBLIC_TERMS, "losses": Field.PUBLIC_IDENTITIES},
    ),
    "comparison": (
        Viewer.TEAM,
        {
            **dict.fromkeys(("id", "state", "is_final", "submission", "baseline"), Field.FILE),
            "differences": Field.PUBLIC_DIFFERENCES,
        },
    ),
}
OF_ACCOUNTS = {"me", "token_list"}  # what the site stores of the user who asks
PRIVATE_BOARD = {key: PRIVATE.get(field, field) for key, field in READERS["leaderboard"][1].items()}
# Addresses that the test requests, with their reads.
ANSWERS: dict[str, Fields] = {
    f"{API}/competitions": READERS["competition_list"],
    HERE: READERS["competition"],
    f"{HERE}/pages": READERS["competition_pages"],
    f"{HERE}/data": READERS["data_file_list"],
    f"{HERE}/log": READERS["public_log"],
    f"{HERE}/team": READERS["team"],
    f"{HERE}/leaderboard": READERS["leaderboard"],
    f"{HERE}/leaderboard?split=private": (Viewer.PUBLIC, PRIVATE_BOARD),
    f"{HERE}/leaderboard/private/1": READERS["counted"],
    f"{HERE}/results": READERS["own_results"],
    f"{HERE}/submissions": READERS["submission_list"],
    f"{API}/submissions/1": READERS["submission"],
    f"{API}/submissions/6": READERS["submission"],
    f"{API}/submissions/1/losses": READERS["submission_losses"],
    f"{API}/waiting": READERS["waiting_list"],
}
ONLY_AFTER_THE_REVEAL = 3


def test_every_field_of_a_read_of_participants_is_in_the_table(arena):
    reads = {
        name: OPERATIONS[name].answers
        for rule in arena.app.url_map.iter_rules()
        for name in [rule.endpoint.removeprefix("api.")]
        if rule.endpoint.startswith("api.") and "GET" in (rule.methods or ())
        if OPERATIONS[name].scope not in (Scope.ORGANIZE, Scope.ADMIN)
    }
    assert {name for name, model in reads.items() if model} == READERS.keys() | OF_ACCOUNTS
    for name, (_, fields) in READERS.items():
        for path in _paths(reads[name]):
            _field(path, fields)


def _paths(model, before=""):
    """Yield the paths of a model's fields."""
    for name, field in model.model_fields.items():
        yield f"{before}{name}"
        for inner in _models(field.annotation):
            yield from _paths(inner, f"{before}{name}.")


def _models(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


@pytest.mark.parametrize(
    "feedback",
    [
        *(Feedback.OPEN, Feedback.TIERED),
        *(pytest.param(mode, marks=pytest.mark.long) for mode in (Feedback.SCORE, Feedback.BLIND)),
    ],
)
def test_every_key_is_a_field_that_its_reader_may_see(make_world, feedback):
    world = make_world(Truth.first(), feedback)
    world.begin()
    _assert_keys_may_be_seen(world, Phase.OPEN)
    world.close()
    world.settle()
    _assert_keys_may_be_seen(world, Phase.CLOSED)
    world.reveal()
    _assert_keys_may_be_seen(world, Phase.REVEALED)


def _assert_keys_may_be_seen(world, phase):
    api, answered = world.arena.app.test_client(), 0
    for path, (viewer, fields) in ANSWERS.items():
        answer = api.get(path, headers=world.people["Ann"].bearer)
        if answer.status_code != 200:
            assert phase is not Phase.REVEALED, path
            continue
        answered += 1
        for key in _keys(answer.json):
            field = _field(key, fields)
            assert visible(field, viewer, phase, world.feedback), f"{path}: {key} ({field}) to {viewer}"
        _assert_the_page_returns_the_same(world, path, answer.json)
    unshown = 0 if phase is Phase.REVEALED else ONLY_AFTER_THE_REVEAL
    assert answered == len(ANSWERS) - unshown


def _assert_the_page_returns_the_same(world, path, answered):
    """Compare the read model of a page with that of its operation; only links to next parts differ."""
    adapter = world.arena.app.url_map.bind("localhost")
    address, _, query = path.partition("?")
    operation, arguments = adapter.match(address, method="GET")
    read = reads().get(operation.removeprefix("api."))
    if read is not None and read.template:
        page = adapter.build(read.endpoint, {"slug": SLUG, **arguments})
        browser = world.people["Ann"].browser
        told = browser.get(f"{page}?{query}", headers={"Accept": "application/json"})
        assert told.json | {"next": None} == answered | {"next": None}, path


def _keys(value, path=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _keys(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, path)
    elif value is not None:
        yield path


def _field(key, fields):
    """Return the field for the longest known prefix of a key; a new key needs an entry."""
    words = key.split(".")
    known = [".".join(words[:count]) for count in range(len(words), 0, -1)]
    found = [fields[each] for each in known if each in fields]
    assert found, f"{key} is missing from the table of fields"
    return found[0]
