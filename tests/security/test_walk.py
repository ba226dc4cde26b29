"""Crawl of every route as every role, as proof that no response discloses hidden data.

Three worlds have the same history over different hidden solutions. The second has other private labels, so
its private scores and ranks differ, while its public ones are the same. In the third, public and private rows
of equal content exchange their splits, so no score changes. Each world prepares another correction of its
solution.

Before the reveal, everything sent to users other than organizers must be identical in the first two worlds.
At any time, it must be identical in the first and the third. This includes bodies, headers, redirects,
exports, e-mails and logs. Therefore no score, label, split membership, correction, or order that depends on
them can be disclosed in any form.

Response times are out of scope here: workers score at their own pace and always both splits, and no page
computes with a label.
"""

import json
import logging
import re
from collections.abc import Collection, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from markupsafe import escape
from sqlalchemy import select

from fairboard import PairCounts, report
from fairboard.bias.metric import BiasMetric
from fairboard.interface import GroupLine
from fairboard.lost_score import in_units
from grader.models import Score, Solution, Split, Standing
from grader.ranking import order
from grader.receipts.recount import TERMS
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from tests.fixtures.walks import MAIL, Walk, walk
from tests.fixtures.worlds import CONFIDENTIAL, SLUG, Truth

pytestmark = pytest.mark.system

# The event that leads to each moment. No response to `OTHERS` may contain private values before the reveal.
HISTORY = {"open": "begin", "closed": "close", "settled": "settle", "revealed": "reveal"}
BEFORE_THE_REVEAL = ("open", "closed", "settled")
OTHERS = {"public": None, "stranger": "Eve", "participant": "Bob", "member": "Alan", "leader": "Ann"}
ORGANIZERS = {"viewer": "Vera", "editor": "Edda", "administrator": "Root"}
AUCS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
LOSSES = "GET /api/v1/submissions/1/losses"


@dataclass(frozen=True)
class Extent:
    """The roles that send requests, those that send forms, and whether two roles try every query."""

    roles: Collection[str] = ()
    acting: Collection[str] = ()
    queries: bool = False


Extents = Mapping[str, Extent]
# Most actions are possible while the competition is open, and most pages exist when the private standings are
# available, so only mails and logs are compared right after the close. All denied roles are treated the same:
# `test_routes.py` requests every route as each role.
LEAST = {
    "open": Extent(("public", "leader", "administrator"), ("leader",)),
    "closed": Extent(),
    "settled": Extent(("leader",)),
    "revealed": Extent(("public", "leader")),
}
EVERYTHING = {
    "open": Extent((*OTHERS, *ORGANIZERS), (*OTHERS, *ORGANIZERS), queries=True),
    "closed": Extent(tuple(OTHERS)),
    "settled": Extent((*OTHERS, "viewer"), tuple(OTHERS), queries=True),
    "revealed": Extent((*OTHERS, *ORGANIZERS), tuple(OTHERS), queries=True),
}


@dataclass(frozen=True)
class Trail:
    """All output of a world at each moment, including e-mails and logs, and the world's hidden data.

    `private_scores` are the displayed scores of submissions; `losses` those of submission 1, from exact and
    from displayed AUCs.
    """

    walks: Mapping[str, Walk]
    private_scores: Mapping[int, str]
    private_board: list[int]
    blobs: list[str]
    losses: list[set[tuple[str, str, str]]]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(LEAST, id="the_least"),
        pytest.param(EVERYTHING, id="everything", marks=pytest.mark.long),
    ],
)
def extents(request):
    """The requests at each moment."""
    extents: Extents = request.param
    return extents


@pytest.fixture(scope="module")
def first(make_world, extents):
    """The trail of the first world, including organizers' responses."""
    return follow(make_world(Truth.first()), extents, HISTORY, {**OTHERS, **ORGANIZERS})


@pytest.fixture(scope="module")
def other_labels(make_world, extents):
    """The trail of the world with other private labels, up to the reveal."""
    world = make_world(Truth.first().with_other_private_labels(), correction=8)
    return follow(world, extents, BEFORE_THE_REVEAL)


@pytest.fixture(scope="module")
def other_split(make_world, extents):
    """The trail of the world in which rows of equal content exchange their splits."""
    return follow(make_world(Truth.first().with_other_split(), correction=9), extents, ("revealed",))


@pytest.mark.parametrize("moment", BEFORE_THE_REVEAL)
def test_nothing_depends_on_private_labels_before_the_reveal(first, other_labels, moment):
    assert_same(first.walks[moment], other_labels.walks[moment])


def test_nothing_ever_depends_on_the_split(first, other_split):
    assert first.private_scores == other_split.private_scores
    assert_same(first.walks["revealed"], other_split.walks["revealed"])


def test_worlds_differ_in_their_hidden_data(first, other_labels, other_split):
    assert first.private_board != other_labels.private_board
    assert not set(first.private_scores.values()) & set(other_labels.private_scores.values())
    for team in ((1, 2, 7), (3, 11)):  # Ann's and Bob's
        one, other = (sorted(team, key=each.private_scores.get) for each in (first, other_labels))
        assert one != other
    assert first.blobs != other_split.blobs


def test_the_crawl_finds_private_scores_after_the_reveal(first):
    for role, least in (("leader", 6), ("public", 3)):
        seen = "".join(text for (who, _), text in first.walks["revealed"].items() if who == role)
        assert sum(score in seen for score in first.private_scores.values()) >= least


@pytest.mark.parametrize("moment", HISTORY)
def test_no_blob_of_a_solution_is_mentioned(first, moment):
    for (role, request), text in first.walks[moment].items():
        assert not any(sha256 in text for sha256 in first.blobs), f"{request} as {role}"


@pytest.mark.parametrize("text", CONFIDENTIAL)
def test_confidential_texts_reach_only_permitted_users(first, text):
    names, readers = {**OTHERS, **ORGANIZERS}, set()
    for told_then in first.walks.values():
        for (role, request), told in told_then.items():
            if role in names and _holds(told, text):
                assert names[role] in CONFIDENTIAL[text], f"{request} as {role}"
                readers.add(names[role])
        for mail in told_then["mail", "all mails"].split(MAIL):
            name = mail.partition("@")[0].capitalize()
            assert not _holds(mail, text) or name in CONFIDENTIAL[text], mail
    assert readers, "The text was not found for any role, so this test proves nothing."


def test_only_organizers_see_losses_of_exact_aucs(first):
    for role, of_role, of_others in (("administrator", 0, 1), ("leader", 1, 0)):
        text = first.walks["open"][role, LOSSES]
        losses = json.loads(text[text.index("{") :])["losses"]
        shown = {(each["term"], each["group"], f"{each['amount']:.5f}") for each in losses}
        assert shown <= first.losses[of_role] and not shown <= first.losses[of_others], role


@pytest.mark.parametrize("moment", HISTORY)
def test_no_route_returns_an_internal_error(first, moment):
    broken = [key for key, text in first.walks[moment].items() if text.startswith("5") and text[:3] != "501"]
    assert not broken


def follow(world, extents, moments, names=OTHERS):
    """Run a world through its history and crawl the site at these moments as these roles."""
    walks = {}
    with _log() as lines:
        for moment, event in HISTORY.items():
            lines.clear()
            getattr(world, event)()
            if moment in moments:
                world.dice.seed(moment)
                with world.undone():
                    walks[moment] = _crawl(world, extents[moment], OTHERS)
                    log = re.sub(r"\d+\.\d\d s\b", "some time", "\n".join(lines))
                    if names is not OTHERS:
                        walks[moment] |= _crawl(world, extents[moment], ORGANIZERS)
                    walks[moment]["log", "the log"] = log
    return Trail(walks, *_hidden(world))


def _crawl(world, extent, names):
    asked = {role: name for role, name in names.items() if role in extent.roles}
    desks = () if names is OTHERS else None
    return walk(world, asked, posts=extent.acting, queries=extent.queries, desks=desks)


@contextmanager
def _log():
    """Collect the log records of an installation."""
    lines: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    handler.emit = lambda record: lines.append(handler.format(record))  # type: ignore[method-assign]
    root, before = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield lines
    root.setLevel(before)
    root.removeHandler(handler)


def _holds(told, text):
    """Return whether a response contains a text, unchanged or escaped for HTML or JSON."""
    return text in told or str(escape(text)) in told or json.dumps(text)[1:-1] in told


def assert_same(one, other):
    """Require the same responses, e-mails and logs for all roles other than organizers."""
    assert other
    for (role, request), text in one.items():
        if role not in ORGANIZERS:
            assert text == other[role, request], f"{request} as {role}"


def _hidden(world):
    """Return the private scores, the private leaderboard, the solution's blobs and the losses."""
    with world.arena.database.read() as session:
        live = lookup.live(lookup.get(session, slug=SLUG))
        scores = session.scalars(select(Score).where(Score.scoring_version_id == live.id)).all()
        private = {each.submission_id: each for each in scores if each.split is Split.PRIVATE}
        board = session.scalars(
            select(Standing.team_id)
            .where(Standing.split == Split.PRIVATE, Standing.scoring_version_id == live.id)
            .order_by(Standing.score_units.desc(), Standing.submitted_at)
        ).all()
        solutions = session.scalars(select(Solution)).all()
        blobs = [sha256 for each in solutions for sha256 in (each.prepared_sha256, each.row_ids_sha256)]
        (own,) = [each for each in scores if each.split is Split.PUBLIC and each.submission_id == 1]
        metric = Rules.of(live).metric.formula
        exact = report(PairCounts.from_dict(own.evidence), metric).subgroups
        shown = [
            replace(row, **{auc: order.rounded_cell(getattr(row, auc)) for auc in AUCS}) for row in exact
        ]
        losses = [_losses(own, rows, metric) for rows in (exact, shown)]
        texts = {number: order.SCALE.text(order.SCALE.units(each.score)) for number, each in private.items()}
    return texts, list(board), blobs, losses


def _losses(score, rows, metric):
    """Return the losses that a page computes from these AUCs of the public rows."""
    terms = {name: round(score.terms[name], 4) for name in TERMS}
    lines = [GroupLine(row.name, {}, {auc: getattr(row, auc) for auc in AUCS}) for row in rows]
    parts = BiasMetric((), metric).loss_parts(terms, lines)
    found = in_units(parts, 100_000 - order.SCALE.units(score.score), lambda units: units / 100_000)
    return {(each.term, each.group, f"{each.amount:.5f}") for each in found}
