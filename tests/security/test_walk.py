"""Crawl of every route as every role, as proof that no response discloses hidden data.

Three worlds have the same history over different hidden solutions. The second has other private labels, so
its private scores and ranks differ, while its public ones are the same. In the third, public and private rows
of equal content exchange their splits, so no score changes. Each world prepares another correction of its
solution.

Before the reveal, everything sent to users other than organizers must be identical in the first two worlds.
At any time, it must be identical in the first and the third. This includes bodies, headers, redirects,
exports, e-mails and logs. Therefore no score, label, split membership, correction, or order that depends on
them can be disclosed in any form. An additional search for private values in any rounding shows which value
leaked.

Response times are out of scope here: workers score at their own pace and always both splits, and no page
computes with a label.
"""

import itertools
import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pytest
from markupsafe import escape
from sqlalchemy import select

from fairboard import MetricSettings, PairCounts, SubgroupReport, report
from fairboard.bias.metric import BiasMetric
from fairboard.interface import GroupLine
from fairboard.losses import in_units
from grader.models import Score, Solution, Split, Standing
from grader.ranking import order
from grader.receipts.recount import TERMS
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from grader.visibility import Feedback, Field, Phase, Step, Viewer, visible
from tests.fixtures.walks import CURIOUS, MAIL, Walk, walk
from tests.fixtures.worlds import CONFIDENTIAL, SLUG, Truth, World

pytestmark = pytest.mark.system

MOMENTS = {
    "open": Phase.OPEN,
    "closed": Phase.CLOSED,
    "settled": Phase.CLOSED,
    "revealed": Phase.REVEALED,
}
HISTORY = ("begin", "close", "settle", "reveal")
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
AUCS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
# Round values on chart axes, positions in drawings, and the length of the response.
SHAPE = r'Content-Length: \d+|<text class="(?:tick|level)[^>]*>[^<]*<| (?:x|x1|x2|cx|width)="[\d.]+%"'
DESCRIPTIONS = "/api/openapi.json"
DOCUMENTATION = (
    # The chapters are full of numbers and identical in every world, because they do not use the database.
    "/docs"
)
ORGANIZERS = {role: name for role, (name, viewer) in ROLES.items() if viewer is Viewer.ORGANIZER}
OTHERS = {role: name for role, (name, _) in ROLES.items() if role not in ORGANIZERS}


@dataclass(frozen=True)
class Extent:
    """The requests in one phase, in addition to every address as every role.

    If `queries` is set, two roles also try every query and JSON. `forms` are the roles that send forms, and
    `desks` those that also request the organizers' pages; None stands for all roles. `others` and
    `organizers` are the roles that send requests, and `acting` the organizers who send forms.
    """

    queries: bool = True
    forms: Collection[str] | None = None
    desks: Collection[str] | None = CURIOUS
    others: Collection[str] = tuple(OTHERS)
    organizers: Collection[str] = ("viewer",)
    acting: Collection[str] = ()


EVERYTHING = {
    "open": Extent(desks=None, organizers=ROLES, acting=ROLES),
    "closed": Extent(queries=False, forms=()),
    "settled": Extent(),
    "revealed": Extent(organizers=ROLES),
}
# Most actions are possible while the competition is open, and most pages exist when the private standings are
# available, so only mails and logs are compared right after the close. All denied roles are treated the same:
# `test_routes.py` requests every route as each role.
SEEING = ("public", "leader")
THE_LEAST = {
    "open": Extent(
        queries=False,
        forms=("leader",),
        desks=(),
        others=SEEING,
        organizers=("administrator",),
    ),
    "closed": Extent(queries=False, forms=(), desks=(), others=(), organizers=()),
    "settled": Extent(queries=False, forms=(), desks=(), others=("leader",), organizers=()),
    "revealed": Extent(queries=False, forms=(), desks=(), others=SEEING, organizers=()),
}


@dataclass(frozen=True)
class Secrets:
    """The hidden data of a world."""

    private_scores: Mapping[int, str]
    private_board: tuple[int, ...]
    hidden: frozenset[str]
    losses: tuple[frozenset[tuple[str, str, str]], ...]  # of submission 1, from exact and displayed AUCs
    blobs: tuple[str, ...]


@dataclass
class Trail:
    """All output of a world in each phase, including e-mails and logs, and the world's hidden data.

    If the world fails, its earlier output is kept, so that only the tests of later phases fail.
    """

    world: World
    walks: dict[str, Walk] = field(default_factory=dict)
    failure: Exception | None = None

    def at(self, moment: str) -> Walk:
        """Return the output of a phase."""
        if moment not in self.walks:
            raise AssertionError(
                f"The site failed before the crawl was complete while it was {moment}."
            ) from (self.failure)
        return self.walks[moment]

    @cached_property
    def secrets(self) -> Secrets:
        return _secrets(self.world)


Extents = Mapping[str, Extent]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(THE_LEAST, id="the_least"),
        pytest.param(EVERYTHING, id="everything", marks=pytest.mark.long),
    ],
)
def extents(request: pytest.FixtureRequest) -> Extents:
    """The requests in each phase."""
    extents: Extents = request.param
    return extents


@pytest.fixture(scope="module")
def first(make_world: Callable[..., World], extents: Extents) -> Trail:
    """The trail of the first world, including organizers' responses."""
    return follow(make_world(Truth.first()), extents, MOMENTS, with_organizers=True)


@pytest.fixture(scope="module")
def other_labels(make_world: Callable[..., World], extents: Extents) -> Trail:
    """The trail of the world with other private labels, up to the reveal."""
    world = make_world(Truth.first().with_other_private_labels(), correction=8)
    return follow(world, extents, ("open", "closed", "settled"))


@pytest.fixture(scope="module")
def other_split(make_world: Callable[..., World], extents: Extents) -> Trail:
    """The trail of the world in which rows of equal content exchange their splits."""
    world = make_world(Truth.first().with_other_split(), correction=9)
    return follow(world, extents, ("revealed",) if extents is THE_LEAST else ("settled", "revealed"))


@pytest.mark.parametrize("moment", ["open", "closed", "settled"])
def test_nothing_depends_on_private_labels_before_the_reveal(first: Trail, other_labels: Trail, moment: str):
    assert_same(first.at(moment), other_labels.at(moment), MOMENTS[moment])


def test_nothing_ever_depends_on_the_split(first: Trail, other_split: Trail):
    assert first.secrets.private_scores == other_split.secrets.private_scores
    for moment in other_split.walks:
        assert_same(first.at(moment), other_split.at(moment), Phase.CLOSED)
    assert other_split.at("revealed")


@pytest.mark.usefixtures("extents")
@pytest.mark.parametrize("world", ["first", "other_labels"])
@pytest.mark.parametrize("moment", ["open", "closed", "settled"])
def test_no_private_value_is_found_before_the_reveal(request: pytest.FixtureRequest, world: str, moment: str):
    trail: Trail = request.getfixturevalue(world)
    wrong: set[tuple[str, str, str]] = set()
    for (role, asked), text in trail.at(moment).items():
        if not _sees(role, MOMENTS[moment]) and not asked.split()[1].startswith(DOCUMENTATION):
            found = _numbers(text) & trail.secrets.hidden
            if asked.split()[1] in DESCRIPTIONS:
                found -= set(Step)  # the values of a setting
            wrong |= {(asked, role, each) for each in found}
    assert not wrong


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_blob_of_a_solution_is_mentioned(first: Trail, moment: str):
    for (role, request), text in first.at(moment).items():
        assert not any(sha256 in text for sha256 in first.secrets.blobs), f"{request} as {role}"


@pytest.mark.parametrize("text", CONFIDENTIAL)
def test_confidential_texts_reach_only_permitted_users(first: Trail, text: str):
    readers = set()
    for told_then in map(first.at, MOMENTS):
        for (role, request), told in told_then.items():
            if role in ROLES and _holds(told, text):
                assert ROLES[role][0] in CONFIDENTIAL[text], f"{request} as {role}"
                readers.add(ROLES[role][0])
        for mail in told_then["mail", "all mails"].split(MAIL):
            name = mail.partition("@")[0].capitalize()
            assert not _holds(mail, text) or name in CONFIDENTIAL[text], mail
    assert readers, "The text was not found for any role, so this test proves nothing."


def test_same_search_finds_every_private_score_after_the_reveal(first: Trail):
    told, secrets = first.at("revealed"), first.secrets
    seen = "".join(text for (role, _), text in told.items() if role == "leader")
    shown = [score for score in secrets.private_scores.values() if score in seen]
    assert len(shown) >= 6
    assert _numbers(seen) & secrets.hidden
    anybody = "".join(text for (role, _), text in told.items() if role == "public")
    assert _numbers(anybody) & secrets.hidden


@pytest.mark.parametrize("moment", ["open", "settled", "revealed"])
def test_only_organizers_see_losses_of_exact_aucs(first: Trail, moment: str):
    answers = {
        role: text
        for (role, asked), text in first.at(moment).items()
        if asked == "GET /api/v1/submissions/1/losses"
    }
    assert "leader" in answers
    for role, text in answers.items():
        if text.startswith("200"):
            losses = json.loads(text[text.index("{") :])["losses"]
            shown = {(each["term"], each["group"], f"{each['amount']:.5f}") for each in losses}
            exact, rounded = first.secrets.losses
            assert shown <= (exact if role in ORGANIZERS else rounded), role
            assert not shown <= (rounded if role in ORGANIZERS else exact), role


def test_worlds_differ_in_their_hidden_data(first: Trail, other_labels: Trail, other_split: Trail):
    one, other = first.secrets, other_labels.secrets
    assert one.private_board != other.private_board
    assert not set(one.private_scores.values()) & set(other.private_scores.values())
    for team in ((1, 2, 7), (3, 11)):  # Ann's and Bob's
        assert _order(one, team) != _order(other, team)
    assert one.blobs != other_split.secrets.blobs


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_route_returns_an_internal_error(first: Trail, moment: str):
    broken = [key for key, text in first.at(moment).items() if text.startswith("5") and text[:3] != "501"]
    assert not broken


def test_failed_world_keeps_its_earlier_output():
    world: Any = SimpleNamespace(begin=lambda: None, close=lambda: 1 / 0)
    trail = follow(world, THE_LEAST, ())
    assert isinstance(trail.failure, ZeroDivisionError)
    trail.walks["open"] = {("public", "GET /"): "told"}
    assert trail.at("open")
    with pytest.raises(AssertionError, match="while it was settled") as told:
        trail.at("settled")
    assert told.value.__cause__ is trail.failure


def _order(secrets: Secrets, submission_ids: tuple[int, ...]) -> list[int]:
    return sorted(submission_ids, key=secrets.private_scores.__getitem__)


def follow(
    world: World, extents: Extents, moments: Collection[str], *, with_organizers: bool = False
) -> Trail:
    """Run a world through its history and crawl the site in these phases."""
    trail = Trail(world)
    with _log() as lines:
        try:
            for moment, happen in zip(MOMENTS, HISTORY, strict=True):
                lines.clear()
                getattr(world, happen)()
                if moment in moments:
                    world.dice.seed(moment)
                    with world.undone():
                        _list_all_losses(world)
                        told = _ask_others(world, extents[moment])
                        told["log", "the log"] = re.sub(r"\d+\.\d\d s\b", "some time", "\n".join(lines))
                        if with_organizers:
                            told = _ask_organizers(world, extents[moment]) | told
                        trail.walks[moment] = told
        except Exception as error:
            trail.failure = error
    return trail


def _list_all_losses(world: World):
    """Reduce the standard errors, because smaller losses than the standard error are not listed."""
    with world.arena.database.write() as session:
        for score in session.scalars(select(Score)):
            score.errors = (score.errors or {}) | {"score": 0.00001}


def _ask_others(world: World, extent: Extent) -> Walk:
    asked = {role: name for role, name in OTHERS.items() if role in extent.others}
    return walk(world, asked, posts=extent.forms, queries=extent.queries, desks=extent.desks)


def _ask_organizers(world: World, extent: Extent) -> Walk:
    asked = {role: name for role, name in ORGANIZERS.items() if role in extent.organizers}
    return walk(world, asked, posts=extent.acting)


@contextmanager
def _log() -> Iterator[list[str]]:
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


def _holds(told: str, text: str) -> bool:
    """Return whether a response contains a text, unchanged or escaped for HTML or JSON."""
    return text in told or str(escape(text)) in told or json.dumps(text)[1:-1] in told


def _sees(role: str, phase: Phase) -> bool:
    """Return whether a role may see private values; log and e-mails count as public."""
    _, viewer = ROLES.get(role, (None, Viewer.PUBLIC))
    return visible(Field.PRIVATE_SCORE, viewer, phase, Feedback.OPEN)


def assert_same(one: Walk, other: Walk, phase: Phase):
    """Require the same responses for all roles that may not see private values."""
    compared = {role for role, _ in other}
    assert {key for key in one if key[0] in compared} == other.keys()
    for (role, request), text in one.items():
        if role in compared and not _sees(role, phase):
            assert text == other[role, request], f"{request} as {role}"


def _secrets(world: World) -> Secrets:
    values: dict[Split, set[float]] = {split: set() for split in Split}
    scores = {}
    shown_values: list[dict[Any, float]] = []
    told_losses: set[str] = set()
    losses: tuple[frozenset[tuple[str, str, str]], ...] = ()
    costs: list[list[float]] = []
    with world.arena.database.read() as session:
        competition = lookup.get(session, slug=SLUG)
        metric = Rules.of(lookup.live(competition)).metric
        live = lookup.live(competition).id
        for score in session.scalars(select(Score).order_by(Score.submission_id)):
            is_shown = score.scoring_version_id == live and score.split is Split.PUBLIC
            known = values[Split.PUBLIC if is_shown else Split.PRIVATE]
            terms = tuple(score.terms[term] for term in TERMS)
            known |= {score.score, *terms}
            rows = report(PairCounts.from_dict(score.evidence), metric).subgroups
            if is_shown:
                shown_values.append(_shown(score.score, terms, rows))
                both = [_losses(score.score, terms, each, metric) for each in (rows, _displayed(rows))]
                told_losses |= _bars(both[1])
                if score.submission_id == 1:
                    losses = tuple(both)
                errors = (score.errors or {}).values()
                told_losses |= {str(error) for error in errors} | {
                    order.error_text(error) for error in errors
                }
                costs.append(_costs(terms, metric))
            for row in rows:
                cells = (row.subgroup_auc, row.bpsn_auc, row.bnsp_auc, row.positive_aeg, row.negative_aeg)
                known |= {abs(cell) for cell in cells if cell is not None}
            if score.scoring_version_id == live and score.split is Split.PRIVATE:
                scores[score.submission_id] = order.SCALE.text(order.SCALE.units(score.score))
        board = session.scalars(
            select(Standing.team_id)
            .where(Standing.split == Split.PRIVATE, Standing.scoring_version_id == live)
            .order_by(Standing.score_units.desc(), Standing.submitted_at)
        ).all()
        solutions = session.scalars(select(Solution)).all()
        blobs = tuple(sha256 for each in solutions for sha256 in (each.prepared_sha256, each.row_ids_sha256))
    told = {metric.label_threshold, metric.identity_threshold, *metric.weights.as_dict().values()}
    hidden = _roundings(values[Split.PRIVATE]) - _roundings(values[Split.PUBLIC] | told)
    told_losses |= _differences(shown_values) | _contributions(costs)
    return Secrets(scores, tuple(board), frozenset(hidden - told_losses), losses, blobs)


def _shown(score: float, terms: Sequence[float], rows: Sequence[SubgroupReport]) -> dict[Any, float]:
    """Return the displayed values of a file's public rows, as rounded on pages."""
    values: dict[Any, float | None] = dict(enumerate(terms))
    for row in rows:
        values |= {(row.name, auc): getattr(row, auc) for auc in AUCS}
    return {"score": round(score, 5)} | {
        key: round(value, 4) for key, value in values.items() if value is not None
    }


def _costs(terms: Sequence[float], metric: MetricSettings) -> list[float]:
    """Return the costs of a file's displayed terms."""
    weights = metric.weights.as_dict().values()
    return [weight * (1 - round(term, 4)) for weight, term in zip(weights, terms, strict=True)]


def _contributions(costs: Sequence[Sequence[float]]) -> set[str]:
    """Return the costs of terms and the differences between them, as shown in comparisons."""
    pairs = itertools.combinations(costs, 2)
    found = [abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True)]
    return {f"{value:.5f}" for value in (*found, *itertools.chain(*costs))}


def _differences(shown: Sequence[Mapping[Any, float]]) -> set[str]:
    """Return the differences of files' displayed values, as leaderboards and comparisons show."""
    return {
        f"{abs(round(one[key], digits) - round(other[key], digits)):.{digits}f}"
        for one, other in itertools.combinations(shown, 2)
        for key in one.keys() & other.keys()
        for digits in ((5,) if key == "score" else (2, 4))
    }


def _displayed(rows: Sequence[SubgroupReport]) -> list[SubgroupReport]:
    return [replace(row, **{auc: order.rounded_cell(getattr(row, auc)) for auc in AUCS}) for row in rows]


def _losses(
    score: float, terms: Sequence[float], rows: Sequence[SubgroupReport], metric: MetricSettings
) -> frozenset[tuple[str, str, str]]:
    """Return the losses that a page computes from these AUCs of the public rows."""
    shown = {name: round(term, 4) for name, term in zip(TERMS, terms, strict=True)}
    total = 100_000 - order.SCALE.units(score)
    lines = [GroupLine(row.name, {}, {auc: getattr(row, auc) for auc in AUCS}) for row in rows]
    parts = BiasMetric((), metric).loss_parts(shown, lines)
    losses = in_units(parts, total, lambda units: units / 100_000)
    return frozenset((each.term, each.group, f"{each.amount:.5f}") for each in losses)


def _bars(losses: frozenset[tuple[str, str, str]]) -> set[str]:
    """Return the losses, their sums and the scores that remain after each of them, as in the waterfall."""
    by_term: dict[str, list[int]] = {}
    for term, _, number in losses:
        by_term.setdefault(term, []).append(round(float(number) * 100_000))
    top, shown = 100_000, [100_000]
    for sizes in sorted(by_term.values(), key=sum, reverse=True):
        for order_of_sizes in (sorted(sizes), sorted(sizes, reverse=True)):
            sums = list(itertools.accumulate(order_of_sizes))
            shown += [*order_of_sizes, *sums, *(top - each for each in sums)]
        top -= sum(sizes)
    return {order.SCALE.text(units) for units in shown} | {str(units / 100_000) for units in shown}


def _roundings(values: set[float]) -> set[str]:
    """Return values as text with 2 to 17 digits, as percentages, and as units of 0.00001."""
    texts = {f"{value:.{digits}f}" for value in values for digits in range(2, 18)}
    texts |= {f"{100 * value:.{digits}f}" for value in values for digits in range(2, 16)}
    return texts | {f"{value * 100_000:.0f}" for value in values if value >= 0.1}


def _numbers(text: str) -> set[str]:
    """Return the numbers in a text as `_roundings` formats them, except layout values."""
    return {
        number if not number.startswith(".") else f"0{number}"
        for number in re.findall(
            r"(?<![\w.])\d*\.\d{2,17}(?!\d)|(?<![\w.])\d{5}(?![\w.])", re.sub(SHAPE, "", text)
        )
    }
