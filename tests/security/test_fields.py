"""API response fields: entries in the visibility table, and permitted viewers."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from grader.visibility import Feedback, Field, Phase, Viewer, visible
from tests.fixtures.worlds import Truth, World

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
    **dict.fromkeys(("entry", "accepted_rules_version", "joined_at"), Field.TEAM_AFFAIRS),
    **dict.fromkeys(("team.id", "team.name", "team.division", "team.members", "team.leader"), Field.TEAM),
    "team": Field.TEAM_AFFAIRS,
    "limits": Field.ALLOWANCE,
    "selection": Field.SELECTION,
}
# Each URL with its reader's role and the fields to which its keys belong.
ANSWERS: dict[str, tuple[Viewer, Mapping[str, Field]]] = {
    f"{API}/competitions": (
        Viewer.PUBLIC,
        {f"competitions.{key}": field for key, field in COMPETITION.items()}
        | dict.fromkeys(("next", "page_size"), Field.COMPETITION),
    ),
    HERE: (Viewer.PUBLIC, COMPETITION | dict.fromkeys(TOLD_OF_ONE, Field.COMPETITION)),
    f"{HERE}/team": (Viewer.TEAM, TEAM),
    f"{HERE}/leaderboard": (Viewer.PUBLIC, BOARD),
    f"{HERE}/leaderboard?split=private": (
        Viewer.PUBLIC,
        {key: PRIVATE.get(field, field) for key, field in BOARD.items()},
    ),
    f"{HERE}/leaderboard/private/1": (Viewer.PUBLIC, COUNTED),
    f"{HERE}/submissions": (Viewer.TEAM, LIST),
    f"{API}/submissions/1": (Viewer.TEAM, OWN),
    f"{API}/submissions/6": (Viewer.TEAM, OWN),
}


@pytest.mark.parametrize(
    "feedback",
    [
        *(Feedback.OPEN, Feedback.TIERED),
        *(pytest.param(mode, marks=pytest.mark.long) for mode in (Feedback.SCORE, Feedback.BLIND)),
    ],
)
def test_every_key_is_a_field_that_its_reader_may_see(make_world: Callable[..., World], feedback: Feedback):
    world = make_world(Truth.first(), feedback)
    world.begin()
    _assert_keys_may_be_seen(world, Phase.OPEN)
    world.close()
    world.settle()
    _assert_keys_may_be_seen(world, Phase.CLOSED)
    world.reveal()
    _assert_keys_may_be_seen(world, Phase.REVEALED)


def _assert_keys_may_be_seen(world: World, phase: Phase):
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
    unshown = 0 if phase is Phase.REVEALED else 2
    assert answered == len(ANSWERS) - unshown


def _keys(value, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _keys(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, path)
    elif value is not None:
        yield path


def _field(key: str, fields: Mapping[str, Field]) -> Field:
    """Return the field for the longest known prefix of a key; a new key needs an entry."""
    words = key.split(".")
    known = [".".join(words[:count]) for count in range(len(words), 0, -1)]
    found = [fields[each] for each in known if each in fields]
    assert found, f"{key} is missing from the table of fields"
    return found[0]
