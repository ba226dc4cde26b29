"""Nothing hidden can be reached: every route as every role, before and after the reveal, in every format.

Three worlds have the same history over different hidden truths: the first; one with other private labels,
whose private scores and ranks are others and whose public ones are the same; and one in which public and
private rows of equal content change places, so that no score changes. Each prepares another correction of its
solution. What anybody but an organizer is told before the reveal must be the same bytes in the first two, and
at any time in the first and the third: bodies, headers, redirects, exports, e-mails and logs. So no score,
label, split membership, correction, or order that depends on them, can hide there in whatever form. The
search for private values in any rounding comes on top: it names what leaked.

How long an answer takes is out of scope here: scoring happens in workers at their own pace, always for both
splits, and no page computes with a label.
"""

import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from markupsafe import escape
from sqlalchemy import select

from grader.leaderboard import standings
from grader.leaderboard.visibility import Feedback, Field, Phase, Viewer, visible
from grader.metrics import PairCounts, report
from grader.models import Score, Solution, Split, Standing
from grader.services import competitions
from grader.services.solutions import Rules
from tests.fixtures.walks import CURIOUS, MAIL, ROUTES, Walk, methods, walk
from tests.fixtures.worlds import CONFIDENTIAL, SLUG, Truth, World

MOMENTS = {
    "open": Phase.OPEN,
    "closed": Phase.CLOSED,
    "settled": Phase.CLOSED,
    "revealed": Phase.REVEALED,
}
ROLES = {
    "public": (None, Viewer.PUBLIC),
    "stranger": ("Eve", Viewer.PUBLIC),
    "participant": ("Bob", Viewer.PARTICIPANT),
    "member": ("Alan", Viewer.TEAM),
    "leader": ("Ann", Viewer.TEAM),
    "viewer": ("Vera", Viewer.ORGANIZER),
    "editor": ("Edda", Viewer.ORGANIZER),
    "administrator": ("Root", Viewer.ORGANIZER),
}
ORGANIZERS = {role: name for role, (name, viewer) in ROLES.items() if viewer is Viewer.ORGANIZER}
OTHERS = {role: name for role, (name, _) in ROLES.items() if role not in ORGANIZERS}


@dataclass(frozen=True)
class Trail:
    """What a world told at each moment, with the mails so far and the moment's log; and what it hides."""

    walks: Mapping[str, Walk]
    private_scores: Mapping[int, str]
    private_board: tuple[int, ...]
    hidden: frozenset[str]
    blobs: tuple[str, ...]


@pytest.fixture(scope="module")
def trails(make_world: Callable[[Truth], World]) -> dict[str, Trail]:
    """The trails of the three worlds."""
    truth = Truth.first()
    return {
        "first": _trail(make_world(truth), MOMENTS, with_organizers=True),
        "other labels": _trail(
            make_world(truth.with_other_private_labels(), correction=8), ("open", "closed", "settled")
        ),
        "other split": _trail(make_world(truth.with_other_split(), correction=9), ("settled", "revealed")),
    }


def test_every_route_is_walked(arena: Any) -> None:
    routes = {(method, rule.endpoint) for rule in arena.app.url_map.iter_rules() for method in methods(rule)}
    assert routes == set(ROUTES), (
        "A route needs an entry in tests/fixtures/walks.py, and each of its answers a field in visibility.py."
    )


@pytest.mark.parametrize("moment", ["open", "closed", "settled"])
def test_nothing_depends_on_private_labels_before_the_reveal(trails: dict[str, Trail], moment: str) -> None:
    _assert_same(trails["first"].walks[moment], trails["other labels"].walks[moment], MOMENTS[moment])


@pytest.mark.parametrize("moment", ["settled", "revealed"])
def test_nothing_ever_depends_on_the_split(trails: dict[str, Trail], moment: str) -> None:
    assert trails["first"].private_scores == trails["other split"].private_scores
    _assert_same(trails["first"].walks[moment], trails["other split"].walks[moment], Phase.CLOSED)


@pytest.mark.parametrize("world", ["first", "other labels"])
@pytest.mark.parametrize("moment", ["open", "closed", "settled"])
def test_no_private_value_is_found_before_the_reveal(
    trails: dict[str, Trail], world: str, moment: str
) -> None:
    trail = trails[world]
    for (role, request), text in trail.walks[moment].items():
        if not _sees(role, MOMENTS[moment]):
            found = _numbers(text) & trail.hidden
            assert not found, f"{request} as {role}"


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_blob_of_a_solution_is_named(trails: dict[str, Trail], moment: str) -> None:
    for (role, request), text in trails["first"].walks[moment].items():
        assert not any(sha256 in text for sha256 in trails["first"].blobs), f"{request} as {role}"


@pytest.mark.parametrize("text", CONFIDENTIAL)
def test_what_is_confidential_reaches_nobody_else(trails: dict[str, Trail], text: str) -> None:
    readers = set()
    for told_then in trails["first"].walks.values():
        for (role, request), told in told_then.items():
            if role in ROLES and _holds(told, text):
                assert ROLES[role][0] in CONFIDENTIAL[text], f"{request} as {role}"
                readers.add(ROLES[role][0])
        for mail in told_then["mail", "all mails"].split(MAIL):
            name = mail.partition("@")[0].capitalize()
            assert not _holds(mail, text) or name in CONFIDENTIAL[text], mail
    assert readers, "The text is nowhere: this test would not find it."


def test_the_same_search_finds_every_private_score_after_the_reveal(trails: dict[str, Trail]) -> None:
    trail = trails["first"]
    seen = "".join(text for (role, _), text in trail.walks["revealed"].items() if role == "leader")
    shown = [score for score in trail.private_scores.values() if score in seen]
    assert len(shown) >= 6
    assert _numbers(seen) & trail.hidden
    anybody = "".join(text for (role, _), text in trail.walks["revealed"].items() if role == "public")
    assert _numbers(anybody) & trail.hidden


def test_the_worlds_differ_in_what_they_hide(trails: dict[str, Trail]) -> None:
    first, other = trails["first"], trails["other labels"]
    assert first.private_board != other.private_board
    assert not set(first.private_scores.values()) & set(other.private_scores.values())
    for team in ((1, 2, 7), (3, 11)):  # Ann's and Bob's
        assert _order(first, team) != _order(other, team)
    assert first.blobs != trails["other split"].blobs


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_route_breaks(trails: dict[str, Trail], moment: str) -> None:
    broken = [key for key, text in trails["first"].walks[moment].items() if text.startswith("5")]
    assert not broken


def _order(trail: Trail, submission_ids: tuple[int, ...]) -> list[int]:
    return sorted(submission_ids, key=trail.private_scores.__getitem__)


def _trail(world: World, moments: Collection[str], *, with_organizers: bool = False) -> Trail:
    walks = {}
    with _log() as lines:
        happened = (world.begin, world.close, world.settle, world.reveal)
        for moment, happen in zip(MOMENTS, happened, strict=True):
            lines.clear()
            happen()
            if moment in moments:
                world.dice.seed(moment)
                with world.undone():
                    # Organizers' pages refuse all others alike, and at any moment: then two still knock.
                    told = walk(world, OTHERS, desks=None if moment == "open" else CURIOUS)
                    told["log", "the log"] = re.sub(r"\d+\.\d\d s\b", "some time", "\n".join(lines))
                    walks[moment] = (
                        walk(world, ORGANIZERS, posts=moment == "open") if with_organizers else {}
                    ) | told
    return Trail(walks, *_secrets(world))


@contextmanager
def _log() -> Iterator[list[str]]:
    """Collect what a log of an installation would hold."""
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


def _holds(told: str, text: str) -> bool:
    """Tell whether an answer holds a text, as it is or as it stands in HTML or JSON."""
    return text in told or str(escape(text)) in told or json.dumps(text)[1:-1] in told


def _sees(role: str, phase: Phase) -> bool:
    """Tell whether a role may see what is private; the log and the mails are read by anybody."""
    _, viewer = ROLES.get(role, (None, Viewer.PUBLIC))
    return visible(Field.PRIVATE_SCORE, viewer, phase, Feedback.OPEN)


def _assert_same(one: Walk, other: Walk, phase: Phase) -> None:
    compared = {role for role, _ in other}
    assert {key for key in one if key[0] in compared} == other.keys()
    for (role, request), text in one.items():
        if role in compared and not _sees(role, phase):
            assert text == other[role, request], f"{request} as {role}"


def _secrets(world: World) -> tuple[Any, ...]:
    values: dict[Split, set[float]] = {split: set() for split in Split}
    scores = {}
    public_terms: dict[int, tuple[float, ...]] = {}
    with world.arena.database.read() as session:
        competition = competitions.get(session, slug=SLUG)
        metric = Rules.from_dict(competitions.live(competition).metric_settings).metric
        live = competitions.live(competition).id
        for score in session.scalars(select(Score).order_by(Score.submission_id)):
            is_shown = score.scoring_version_id == live and score.split is Split.PUBLIC
            known = values[Split.PUBLIC if is_shown else Split.PRIVATE]
            terms = (score.overall_auc, score.subgroup_auc, score.bpsn_auc, score.bnsp_auc)
            known |= {score.score, *terms}
            if is_shown:
                public_terms[score.submission_id] = terms
            for row in report(PairCounts.from_dict(score.counts), metric).subgroups:
                cells = (row.subgroup_auc, row.bpsn_auc, row.bnsp_auc, row.positive_aeg, row.negative_aeg)
                known |= {abs(cell) for cell in cells if cell is not None}
            if score.scoring_version_id == live and score.split is Split.PRIVATE:
                scores[score.submission_id] = standings.score_text(standings.score_units(score.score))
        board = session.scalars(
            select(Standing.team_id)
            .where(Standing.split == Split.PRIVATE, Standing.scoring_version_id == live)
            .order_by(Standing.score_units.desc(), Standing.submitted_at)
        ).all()
        solutions = session.scalars(select(Solution)).all()
        blobs = tuple(sha256 for each in solutions for sha256 in (each.prepared_sha256, each.row_ids_sha256))
    told = {metric.label_threshold, metric.identity_threshold, *metric.weights.as_dict().values()}
    hidden = _roundings(values[Split.PRIVATE]) - _roundings(values[Split.PUBLIC] | told)
    # Ann compares her two files: the page tells how their displayed public terms differ.
    pairs = zip(public_terms[1], public_terms[2], strict=True)
    hidden -= {f"{abs(round(one, 4) - round(other, 4)):.4f}" for one, other in pairs}
    return scores, tuple(board), frozenset(hidden), blobs


def _roundings(values: set[float]) -> set[str]:
    """Return values as text with 2 to 17 digits, as percentages, and as units of 0.00001."""
    texts = {f"{value:.{digits}f}" for value in values for digits in range(2, 18)}
    texts |= {f"{100 * value:.{digits}f}" for value in values for digits in range(2, 16)}
    return texts | {f"{value * 100_000:.0f}" for value in values if value >= 0.1}


def _numbers(text: str) -> set[str]:
    """Return the numbers in a text as `_roundings` writes them."""
    return {
        number if not number.startswith(".") else f"0{number}"
        for number in re.findall(r"(?<![\w.])\d*\.\d{2,17}(?!\d)|(?<![\w.])\d{5}(?![\w.])", text)
    }
