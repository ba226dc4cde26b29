"""Nothing hidden can be reached: every route as every role, before and after the reveal, in every format.

Three worlds have the same history over different hidden truths: the first; one with other private labels,
whose private scores and ranks are others and whose public ones are the same; and one in which public and
private rows of equal content change places, so that no score changes. What anybody but an organizer is told
before the reveal must be the same bytes in the first two, and at any time in the first and the third: bodies,
headers, redirects, exports, e-mails and logs. So no score, label, split membership, or order that depends on
them, can hide there in whatever form. The search for private values in any rounding comes on top: it names
what leaked.

How long an answer takes is out of scope here: scoring happens in workers at their own pace, always for both
splits, and no page computes with a label.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.routing import AnyConverter, Rule
from werkzeug.test import TestResponse

from grader.leaderboard import standings
from grader.leaderboard.visibility import Feedback, Field, Phase, Viewer, visible
from grader.metrics import PairCounts, report
from grader.models import Mail, Score, Solution, Split, Standing
from grader.services import competitions
from grader.services.board_orders import Sort
from grader.services.solutions import Rules
from tests.fixtures.arena import PASSWORD, Person
from tests.fixtures.worlds import SLUG, Truth, World

MOMENTS = {"open": Phase.OPEN, "settled": Phase.CLOSED, "revealed": Phase.REVEALED}
ROLES = {
    "public": (None, Viewer.PUBLIC),
    "stranger": ("Eve", Viewer.PUBLIC),
    "participant": ("Bob", Viewer.PARTICIPANT),
    "member": ("Alan", Viewer.TEAM),
    "leader": ("Ann", Viewer.TEAM),
    "organizer": ("Root", Viewer.ORGANIZER),
}
CURIOUS = ("public", "leader")  # who tries every query
# What stands for each argument of a route; Ann's scored and rejected files, Bob's, and a hidden one.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "slug": (SLUG,),
    "submission_id": (1, 6, 3, 9),
    "token": ("guessed",),
    "token_id": (1,),
    "login_id": (1,),
    "user_id": (3,),
    "invite_id": (2,),
    "request_id": (1,),
    "number": (1,),
}
HIDDEN_COLUMNS = (
    "private_score",
    "-private_score",
    "private_rank",
    "private",
    "usage",
    "split",
    "label",
    "id",
)
BOARD_QUERIES = (
    *(f"sort={column}&order=asc" for column in Sort),
    "order=desc",
    *(f"sort={column}" for column in HIDDEN_COLUMNS),
    "order=private",
    "q=a",
    "q=0.7",
    "page=2",
    "page=-1",
    "page_size=1&per_page=1",
    *(f"split={split}" for split in ("private", "all", "Private", "ignored")),
    "format=csv&split=private",
    "phase=revealed&viewer=organizer&revealed=1",
)
LIST_QUERIES = ("sort=private_score&order=private", "page=2&split=private&q=private&format=csv")
HOST_TIMES = re.compile(r"(?<=Date: )[^\n]*|(?<=Last-Modified: )[^\n]*|(?<=Expires[=:])[^;\n]*")
CHECKED = b"id,prediction\n7000000,x\n7000001,0.5\n7000001,0.25\n"


@dataclass(frozen=True)
class Visit:
    """How a route is asked: with each query, or with a form."""

    queries: tuple[str, ...] = ()
    form: Callable[[], Mapping[str, Any]] = dict


def form(**fields: Any) -> Visit:
    return Visit(form=lambda: fields)


def file(**fields: Any) -> Visit:
    return Visit(form=lambda: {"file": (BytesIO(CHECKED), "p.csv"), "again": "true", **fields})


PLAIN, BOARD, LIST = Visit(), Visit(BOARD_QUERIES), Visit(LIST_QUERIES)
SIGN_UP = form(name="Fay", password=PASSWORD)
ROUTES = {
    ("GET", "health.healthz"): PLAIN,
    ("GET", "health.readyz"): PLAIN,
    ("GET", "competitions.index"): LIST,
    ("GET", "competitions.show"): PLAIN,
    ("GET", "competitions.sample_submission"): PLAIN,
    ("GET", "leaderboards.public"): BOARD,
    ("GET", "leaderboards.private"): BOARD,
    ("GET", "leaderboards.counted"): PLAIN,
    ("GET", "leaderboards.public_csv"): LIST,
    ("GET", "leaderboards.private_csv"): LIST,
    ("GET", "leaderboards.final"): PLAIN,
    ("GET", "leaderboards.results"): LIST,
    ("GET", "submissions.submit"): PLAIN,
    ("POST", "submissions.submit"): file(),
    ("POST", "submissions.submit_again"): form(),
    ("GET", "submissions.index"): LIST,
    ("GET", "submissions.statuses"): LIST,
    ("GET", "submissions.show"): LIST,
    ("GET", "submissions.status"): PLAIN,
    ("GET", "submissions.file"): PLAIN,
    ("POST", "submissions.describe"): form(description="new"),
    ("POST", "submissions.select"): form(selected="yes"),
    ("GET", "teams.show"): PLAIN,
    ("POST", "teams.create"): form(name="Deuces"),
    ("POST", "teams.rename"): form(name="Kings"),
    ("POST", "teams.hand_over"): form(name="Alan"),
    ("POST", "teams.leave"): form(),
    ("POST", "teams.make_link"): form(),
    ("POST", "teams.revoke_link"): form(),
    ("GET", "teams.invitation"): PLAIN,
    ("POST", "teams.accept_link"): form(),
    ("POST", "teams.invite"): form(name="Eve"),
    ("POST", "teams.answer_invitation"): form(),
    ("POST", "teams.request_merge"): form(name="Cem"),
    ("POST", "teams.answer_merge"): form(),
    ("GET", "entry.show"): PLAIN,
    ("POST", "entry.join"): form(accepted_rules_version="1", rules_version="1", accept="yes"),
    ("GET", "entry.requests"): PLAIN,
    ("POST", "entry.decide"): form(name="Eve", admits="yes", verb="admit"),
    ("GET", "people.index"): LIST,
    ("POST", "people.create_reset_link"): form(),
    ("POST", "people.invite"): form(email="fay@example.org"),
    ("GET", "account.log_in"): PLAIN,
    ("POST", "account.log_in"): form(name="Ann", password="wrong"),
    ("POST", "account.log_out"): form(),
    ("GET", "account.sign_up"): PLAIN,
    ("POST", "account.sign_up"): SIGN_UP,
    ("GET", "account.sign_up_by_link"): PLAIN,
    ("POST", "account.sign_up_by_link"): SIGN_UP,
    ("GET", "account.set_up"): PLAIN,
    ("POST", "account.set_up"): SIGN_UP,
    ("GET", "account.verify"): PLAIN,
    ("POST", "account.verify"): form(),
    ("GET", "account.ask_for_reset"): PLAIN,
    ("POST", "account.ask_for_reset"): form(email="ann@example.org", address="ann@example.org"),
    ("GET", "account.reset"): PLAIN,
    ("POST", "account.reset"): form(password=PASSWORD),
    ("GET", "account.show"): PLAIN,
    ("POST", "account.describe"): form(about="A person."),
    ("POST", "account.change_email"): form(email="new@example.org", password=PASSWORD),
    ("POST", "account.choose_notices"): form(notices="scored"),
    ("POST", "account.change_password"): form(password=PASSWORD, new_password=PASSWORD + "2"),
    ("POST", "account.create_token"): form(token_name="t"),
    ("POST", "account.revoke_token"): form(),
    ("POST", "account.end_login"): form(),
    ("POST", "account.log_out_everywhere"): form(),
    ("GET", "account.delete"): PLAIN,
    ("POST", "account.delete"): form(password=PASSWORD, name="Ann"),
    ("GET", "api.competition_list"): LIST,
    ("GET", "api.competition"): PLAIN,
    ("GET", "api.leaderboard"): BOARD,
    ("GET", "api.counted"): PLAIN,
    ("GET", "api.final_standings"): PLAIN,
    ("POST", "api.submit"): file(),
    ("POST", "api.check"): file(),
    ("GET", "api.submission_list"): LIST,
    ("GET", "api.submission"): LIST,
    ("GET", "api.submission_file"): PLAIN,
    ("POST", "api.select"): form(selected="true"),
}

Walk = dict[tuple[str, str], str]
"""By role and request, everything that came back."""


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
        "first": _trail(make_world(truth), MOMENTS),
        "other labels": _trail(make_world(truth.with_other_private_labels()), ("open", "settled")),
        "other split": _trail(make_world(truth.with_other_split()), ("settled", "revealed")),
    }


def test_every_route_is_walked(arena: Any) -> None:
    routes = {(method, rule.endpoint) for rule in arena.app.url_map.iter_rules() for method in _methods(rule)}
    assert routes == set(ROUTES), (
        "A route needs an entry here, and each of its answers a field in visibility.py."
    )


@pytest.mark.parametrize("moment", ["open", "settled"])
def test_nothing_depends_on_private_labels_before_the_reveal(trails: dict[str, Trail], moment: str) -> None:
    _assert_same(trails["first"].walks[moment], trails["other labels"].walks[moment], MOMENTS[moment])


@pytest.mark.parametrize("moment", ["settled", "revealed"])
def test_nothing_ever_depends_on_the_split(trails: dict[str, Trail], moment: str) -> None:
    assert trails["first"].private_scores == trails["other split"].private_scores
    _assert_same(trails["first"].walks[moment], trails["other split"].walks[moment], Phase.CLOSED)


@pytest.mark.parametrize("world", ["first", "other labels"])
@pytest.mark.parametrize("moment", ["open", "settled"])
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


def _trail(world: World, moments: Collection[str]) -> Trail:
    walks = {}
    with _log() as lines:
        for moment, happen in (("open", world.begin), ("settled", world.settle), ("revealed", world.reveal)):
            lines.clear()
            happen()
            if moment in moments:
                world.dice.seed(moment)
                with world.undone():
                    walks[moment] = _walk(world)
                walks[moment]["log", "the log"] = re.sub(r"\d+\.\d\d s\b", "some time", "\n".join(lines))
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


def _walk(world: World) -> Walk:
    walk: Walk = {}
    for role, (name, _) in ROLES.items():
        asker = Asker(world, world.people[name] if name else None)
        for method, path, visit in _visits(world):
            if method == "POST":
                walk[role, f"POST {path}"] = asker.post(path, visit.form())
                continue
            for query in ("", *(f"?{query}" for query in visit.queries if role in CURIOUS)):
                walk[role, f"GET {path}{query}"] = asker.get(path + query)
            if role in CURIOUS:
                walk[role, f"GET {path} as JSON"] = asker.get(path, accept="application/json")
    walk["mail", "all mails"] = _mails(world, after=0)
    return walk


def _visits(world: World) -> Iterator[tuple[str, str, Visit]]:
    addresses = world.arena.app.url_map.bind("localhost")
    for rule in world.arena.app.url_map.iter_rules():
        for method in _methods(rule):
            for values in _values(rule):
                path = addresses.build(rule.endpoint, values, method)
                yield method, path, ROUTES.get((method, rule.endpoint), PLAIN)


def _methods(rule: Rule) -> list[str]:
    """Return the methods to walk; the files of the static folder are the same on every site."""
    return [] if rule.endpoint == "static" else sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})


def _values(rule: Rule) -> Iterator[dict[str, Any]]:
    names = sorted(rule.arguments)
    choices = [
        tuple(converter.items)
        if isinstance(converter := rule._converters[name], AnyConverter)
        else ARGUMENTS[name]
        for name in names
    ]
    for values in product(*choices):
        yield dict(zip(names, values, strict=True))


class Asker:
    """Somebody who asks a world; what an asking changes, in the world or in the browser, is undone."""

    def __init__(self, world: World, person: Person | None) -> None:
        self._world = world
        self._bearer = person.bearer if person else {}
        self._browser = _twin(world, person.browser, ["fairboard_login"]) if person else _twin(world)
        self._form_token = world.arena.form_token(self._browser, "/account" if person else "/login")

    def get(self, path: str, *, accept: str = "*/*") -> str:
        """Return everything that an address brings."""
        return _text(self._client().get(path, headers={"Accept": accept, **self._bearer}))

    def post(self, path: str, form: Mapping[str, Any]) -> str:
        """Return everything that a form brings, with the mails that it causes."""
        with self._world.undone():
            last = _last_mail(self._world)
            data = {"csrf_token": self._form_token, **form}
            told = _text(self._client().post(path, data=data, headers=self._bearer))
            return told + _mails(self._world, after=last)

    def _client(self) -> FlaskClient:
        return _twin(self._world, self._browser, ["fairboard_login", "fairboard_session"])


def _twin(world: World, browser: FlaskClient | None = None, cookies: Collection[str] = ()) -> FlaskClient:
    """Return a new browser that holds copies of another's cookies."""
    client = world.arena.app.test_client()
    for name in cookies:
        if browser is not None and (cookie := browser.get_cookie(name)):
            client.set_cookie(name, cookie.value)
    return client


def _text(answer: TestResponse) -> str:
    headers = "\n".join(sorted(f"{name}: {value}" for name, value in answer.headers))
    body = answer.get_data().decode(errors="replace")
    return f"{answer.status}\n{HOST_TIMES.sub('then', headers)}\n\n{body}"


def _last_mail(world: World) -> int:
    with world.arena.database.read() as session:
        return max(session.scalars(select(Mail.id)), default=0)


def _mails(world: World, *, after: int) -> str:
    with world.arena.database.read() as session:
        mails = session.scalars(select(Mail).where(Mail.id > after).order_by(Mail.id))
        return "\n".join(f"{mail.to_address} {mail.key}\n{mail.subject}\n{mail.body}" for mail in mails)


def _sees(role: str, phase: Phase) -> bool:
    """Tell whether a role may see what is private; the log and the mails are read by anybody."""
    _, viewer = ROLES.get(role, (None, Viewer.PUBLIC))
    return visible(Field.PRIVATE_SCORE, viewer, phase, Feedback.OPEN)


def _assert_same(one: Walk, other: Walk, phase: Phase) -> None:
    assert one.keys() == other.keys()
    for (role, request), text in one.items():
        if not _sees(role, phase):
            assert text == other[role, request], f"{request} as {role}"


def _secrets(world: World) -> tuple[Any, ...]:
    values: dict[Split, set[float]] = {split: set() for split in Split}
    scores = {}
    with world.arena.database.read() as session:
        competition = competitions.get(session, slug=SLUG)
        metric = Rules.from_dict(competitions.live(competition).metric_settings).metric
        for score in session.scalars(select(Score).order_by(Score.submission_id)):
            terms = (score.overall_auc, score.subgroup_auc, score.bpsn_auc, score.bnsp_auc)
            values[score.split] |= {score.score, *terms}
            for row in report(PairCounts.from_dict(score.counts), metric).subgroups:
                cells = (row.subgroup_auc, row.bpsn_auc, row.bnsp_auc, row.positive_aeg, row.negative_aeg)
                values[score.split] |= {abs(cell) for cell in cells if cell is not None}
            if score.split is Split.PRIVATE:
                scores[score.submission_id] = standings.score_text(standings.score_units(score.score))
        board = session.scalars(
            select(Standing.team_id)
            .where(Standing.split == Split.PRIVATE)
            .order_by(Standing.score_units.desc(), Standing.submitted_at)
        ).all()
        solution = session.scalars(select(Solution)).one()
        blobs = (solution.prepared_sha256, solution.row_ids_sha256)
    told = {metric.label_threshold, metric.identity_threshold, *metric.weights.as_dict().values()}
    hidden = _roundings(values[Split.PRIVATE]) - _roundings(values[Split.PUBLIC] | told)
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
