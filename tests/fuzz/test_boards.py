"""Stateful tests of leaderboards, statuses and quotas with a reference model."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import SecretStr
from sqlalchemy import func, select

from grader.db import Database
from grader.errors import Refusal
from grader.files import read_solution, read_submission
from grader.models import Score, ScoringJob, ScoringVersion, Split, SubmissionKind
from grader.receipts import recount as slowly
from grader.receipts.receipt import shown
from grader.receipts.verification import rows_of
from grader.services.closing import close as closing
from grader.services.competitions import acting, lookup
from grader.services.leaderboards import rows
from grader.services.leaderboards.board import board_of
from grader.services.rescoring import preparation, publication
from grader.services.site import leased_rows
from grader.services.site.log import Actor
from grader.services.solutions.intake import StoredSolution
from grader.services.submissions import accepting, decisions, selections
from grader.services.submissions import scoring_jobs as scoring
from grader.services.submissions.refusal import CompetitionClosed, TeamDisqualified
from grader.services.teams import limits, mergers, rosters
from grader.settings import Settings
from grader.storage.stores import open_storage
from grader.visibility import Phase
from grader.worker.scorer import Scorer
from tests.fixtures import stored_solutions
from tests.fixtures.board_model import (
    DAILY_LIMIT,
    PRIVATE,
    PUBLIC,
    SELECTION_COUNT,
    TEAM_SIZE,
    Model,
    Version,
)
from tests.fixtures.databases import set_clock
from tests.fixtures.refusals import refused
from tests.fixtures.service import LEASE, NOON, Service, write_predictions, write_solution
from tests.fixtures.states import state_of
from tests.invariants.checker import Checker, History
from tests.invariants.oracle import Oracle

TESTS = Actor(None, "tests")
USERS = ("ada", "bob", "cem", "dan")
ROWS = 60
IDENTITIES = ("female", "muslim")
OPEN_FOR = timedelta(days=9)
TRUTHS = {name: write_solution(ROWS, seed=seed) for name, seed in (("first", 1), ("second", 2), ("third", 3))}
# Named leaderboards in both directions.
BOARDS = (
    "accuracy = overall_auc\nharm = bnsp_auc lowest",
    "harm = bnsp_auc highest\nmix = 0.5 * score + 0.5 * subgroup_auc\ngap = bpsn_auc - overall_auc lowest",
    "",
)
# Two of the files are equivalent, and one has unknown ids.
FILES = {
    "noise": write_predictions(ROWS, seed=1),
    "other noise": write_predictions(ROWS, seed=2),
    "good": write_predictions(ROWS, seed=3, skill=0.5),
    "good again": write_predictions(ROWS, seed=3, skill=0.5) + b"\n",
    "better": write_predictions(ROWS, seed=4, skill=0.9),
    "good elsewhere": write_predictions(ROWS, seed=5, skill=0.9, solution_seed=2),
    "broken": b"id,prediction\nr0,1\nx,0.5\n",
}


def recounted() -> dict[tuple[str, str], dict[str, Decimal]]:
    """Return each file's scores under each solution, computed by the second implementation."""
    metric = {"power": -5.0, "label_threshold": 0.5, "identity_threshold": 0.5, "undefined": "error"}
    metric["weights"] = dict.fromkeys(("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"), 0.25)
    rules = slowly.RecountSettings.from_dict({"identities": IDENTITIES, "metric": metric})
    found = {}
    for truth, csv in TRUTHS.items():
        solution = read_solution(csv, label="toxicity", identities=IDENTITIES)
        rows = rows_of(solution, rules)
        for file, data in FILES.items():
            if file != "broken":
                numbers = read_submission(data, solution.row_ids).predictions.tolist()
                predictions = dict(zip(solution.row_ids, numbers, strict=True))
                counts = {split: slowly.count(rows[split], predictions, rules) for split in (PUBLIC, PRIVATE)}
                found[truth, file] = {
                    split: Decimal(shown(slowly.score(each, rules)["score"]) or "nan")
                    for split, each in counts.items()
                }
    return found


class Installation:
    """A competition without any events, to which every run of the state machine returns."""

    def __init__(self, service: Service, url: str):
        self.service = service
        for user in USERS:
            service.user(user)
        self.competition = service.competition(
            csv=TRUTHS["first"],
            identities=IDENTITIES,
            closes_at=NOON + OPEN_FOR,
            max_daily_submissions=DAILY_LIMIT,
            max_team_size=TEAM_SIZE,
            selection_count=SELECTION_COUNT,
            boards=BOARDS[0],
        )
        self.corrected = {name: self._corrected(name) for name in TRUTHS}
        self.shown = recounted()
        self.oracle = Oracle(service.storage.read)
        self.clock = NOON
        self.state = state_of(url)

    def _corrected(self, name: str) -> StoredSolution:
        solution = read_solution(TRUTHS[name], label="toxicity", identities=IDENTITIES)
        live = lookup.live(self.service.reload(self.competition))
        return stored_solutions.store_corrected(self.service.storage, solution, live=live)


class BoardMachine(RuleBasedStateMachine):
    """Applies each action to an installation and to the model."""

    def __init__(self, here: Installation):
        super().__init__()
        self.here = here
        self.service = here.service
        here.state.restore()
        self.to(NOON)
        self.model = Model(here.shown, opened_at=NOON, closes_at=NOON + OPEN_FOR)
        self.model.versions[1] = Version("first", "live", was_live=True)
        self.scorer = Scorer(self.service.database, self.service.storage, lease=LEASE)

    @property
    def now(self) -> datetime:
        return self.here.clock

    def to(self, moment: datetime):
        self.here.clock = self.service.now = moment

    @initialize(users=st.sets(st.sampled_from(USERS), min_size=2))
    def some_have_sent_before(self, users: set[str]):
        for user in sorted(users):
            self.submit(user, "noise", 1)

    @rule(
        user=st.sampled_from(USERS),
        file=st.sampled_from(list(FILES)),
        minutes=st.sampled_from((0, 1)),
        scores=st.booleans(),
    )
    def submit(self, user: str, file: str, minutes: int, scores: bool = False):
        self.to(self.now + timedelta(minutes=minutes))
        model, team = self.model, self.model.team_of.get(user)
        refusal: Any = None
        if model.is_closed(self.now) and not model.is_revealed:
            refusal = CompetitionClosed
        elif team in model.disqualified:
            refusal = TeamDisqualified
        elif model.used_on(team, self.now) >= DAILY_LIMIT:
            refusal = "daily_limit_reached"
        with expecting(refusal):
            sent = self.service.submit(self.here.competition, user=user, csv=FILES[file]).submission
            model.team_of.setdefault(user, sent.team_id)
            model.leader.setdefault(sent.team_id, user)
            model.name[sent.team_id] = sent.team.name
            model.accept(sent.id, user, file, self.now)
        if scores:
            self.score_all()

    @rule(hours=st.sampled_from((1, 5, 12, 24)))
    def wait(self, hours: int):
        self.to(self.now + timedelta(hours=hours))

    @rule(data=st.data(), lost=st.booleans())
    def score_one(self, data: st.DataObject, lost: bool):
        jobs = self.waiting()
        if jobs:
            job_id = data.draw(st.sampled_from(sorted(jobs)))
            if lost:  # The worker claimed the job and then disappeared.
                with self.service.database.write() as session:
                    assert scoring.claim(session, job_id=job_id, lease=LEASE, now=self.now)
                assert not self.scorer.run(job_id)
                self.to(self.now + LEASE)
            assert self.scorer.run(job_id)
            assert not self.scorer.run(job_id)
            self.model.score(*jobs[job_id])

    @rule()
    def score_all(self):
        for job_id, which in self.waiting().items():
            assert self.scorer.run(job_id)
            self.model.score(*which)

    @precondition(lambda self: self.model.sent)
    @rule(data=st.data(), is_own=st.integers(0, 4), wanted=st.integers(0, 2))
    def select(self, data: st.DataObject, is_own: int, wanted: int):
        sent = self.any_sent(data)
        members = [user for user in USERS if self.model.team_of.get(user) == sent.team]
        user = data.draw(st.sampled_from(USERS if is_own == 4 else members))
        refusal: Any = None
        if user not in members:
            refusal = accepting.UnknownSubmission
        elif self.model.is_closed(self.now):
            refusal = "selection_closed"
        elif wanted and not sent.is_selected:
            if sent.kind != "normal" or sent.status == "rejected":
                refusal = "not_selectable"
            elif len(self.model.picks(sent.team)) >= SELECTION_COUNT:
                refusal = "too_many_selected"
        with expecting(refusal), self.service.database.write() as session:
            own = self.here.competition
            act = acting.as_person(session, own, self.service.user(user))
            selections.select(act, submission_id=sent.number, is_selected=bool(wanted))
            sent.is_selected = bool(wanted)

    @precondition(lambda self: len(set(self.model.team_of.values())) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject):
        teams = st.sampled_from(sorted(set(self.model.team_of.values())))
        into, taken = data.draw(st.lists(teams, min_size=2, max_size=2, unique=True))
        refusal = None if self.model.may_merge(into, taken, self.now) else Refusal
        competition = self.here.competition
        with expecting(refusal), self.service.database.write() as session:
            leader, other = (self.service.user(self.model.leader[team]) for team in (into, taken))
            asked = mergers.request(
                acting.as_person(session, competition, leader),
                name=self.model.name[taken],
            )
            mergers.accept(acting.as_person(session, competition, other), request_id=asked.id)
            self.model.merge(taken, into)

    @precondition(lambda self: self.model.team_of)
    @rule(data=st.data())
    def disqualify_or_reinstate(self, data: st.DataObject):
        team = data.draw(st.sampled_from(sorted(set(self.model.team_of.values()))))
        name = self.model.name[team]
        with self.service.database.write() as session:
            act = acting.begin(session, competition=self.here.competition, actor=TESTS)
            if team in self.model.disqualified:
                decisions.reinstate(act, team=name)
            else:
                decisions.disqualify(act, team=name, reason="Two accounts.")
        self.model.disqualified ^= {team}

    @precondition(lambda self: any(not each.is_late for each in self.model.sent.values()))
    @rule(data=st.data(), kind=st.sampled_from(("normal", "hidden", "benchmark")))
    def mark(self, data: st.DataObject, kind: str):
        sent = self.any_sent(data)
        if sent.is_late:
            return
        with self.service.database.write() as session:
            act = acting.begin(session, competition=self.here.competition, actor=TESTS)
            decisions.mark(act, submission_id=sent.number, kind=SubmissionKind(kind))
        sent.kind = kind
        sent.is_selected = sent.is_selected and kind == "normal"

    @rule(solution=st.sampled_from(list(TRUTHS)))
    def prepare(self, solution: str):
        refusal = "rescoring_under_way" if self.model.preparing else None
        with expecting(refusal), self.service.database.write() as session:
            version = preparation.prepare(
                session,
                competition=self.here.competition,
                solution=self.here.corrected[solution],
                reason="Labels were wrong.",
                actor=TESTS,
            )
            self.model.prepare(version.number, solution)

    @precondition(lambda self: self.model.preparing)
    @rule(drops=st.integers(0, 4), scores=st.booleans())
    def publish_or_drop(self, drops: int, scores: bool):
        if scores:
            self.score_all()
        number = self.model.preparing
        assert number is not None
        version_id = self.version_id(number)
        if drops == 4:
            with self.service.database.write() as session:
                preparation.drop(session, scoring_version_id=version_id, actor=TESTS)
            self.model.drop(number)
            return
        refusal = publication.RescoringIncomplete if self.model.is_incomplete(number) else None
        with expecting(refusal), self.service.database.write() as session:
            publication.publish(session, scoring_version_id=version_id, actor=TESTS)
            self.model.switch(number)

    @rule(data=st.data())
    def roll_back(self, data: st.DataObject):
        model = self.model
        number = data.draw(st.sampled_from(sorted(model.versions)))
        version = model.versions[number]
        refusal: Any = None
        if version.state != "retired":
            refusal = "not_retired"
        else:
            kept = dict(version.jobs)
            model.add_missing_jobs(number)
            if model.is_incomplete(number) and model.preparing:
                refusal, version.jobs = "rescoring_under_way", kept
        with expecting(refusal), self.service.database.write() as session:
            publication.roll_back(
                session, competition=self.here.competition, number=number, reason="Back.", actor=TESTS
            )
            if model.is_incomplete(number):
                version.state = "preparing"
            else:
                model.switch(number)

    @rule(boards=st.sampled_from(BOARDS))
    def change_named_leaderboards(self, boards: str):
        with self.service.database.write() as session:
            act = acting.begin(session, competition=self.here.competition, actor=TESTS)
            rows.change_settings(act, changes={"boards": boards})

    @rule(really=st.integers(0, 4))
    def close(self, really: int):
        if really == 4 and not self.model.is_closed(self.now):
            self.to(self.model.closes_at)

    @precondition(lambda self: not self.model.is_revealed and self.model.is_closed(self.now))
    @rule(reveals=st.booleans(), scores=st.booleans())
    def settle_or_reveal(self, reveals: bool, scores: bool):
        if scores:
            self.score_all()
        waits = any(each.status == "pending" and not each.is_late for each in self.model.sent.values())
        with (
            expecting(closing.ScoringPending if waits else None),
            self.service.database.write() as session,
        ):
            if reveals:
                closing.reveal(session, competition=self.here.competition, actor=TESTS)
                self.model.is_revealed = True
            else:
                closing.settle(session, competition=self.here.competition)

    @invariant()
    def the_boards_are_those_of_the_model(self):
        with self.service.database.read() as session:
            competition = lookup.get(session, slug=self.here.competition.slug)
            public = board_of(session, competition=competition, now=self.now)
            assert lines(public.rows) == self.model.board(PUBLIC)
            if not self.model.is_revealed:
                return
            private = board_of(
                session, competition=competition, split=Split.PRIVATE, phase=Phase.REVEALED, now=self.now
            )
            assert lines(private.rows) == self.model.board(PRIVATE)

    @invariant()
    def quotas_are_those_of_the_model(self):
        with self.service.database.read() as session:
            competition = lookup.get(session, slug=self.here.competition.slug)
            for user, team_id in self.model.team_of.items():
                team = rosters.find_team(session, competition=competition, user=self.service.user(user))
                assert team is not None
                assert team.id == team_id
                used = limits.allowance(session, competition=competition, team=team, now=self.now)
                assert used.used_today == self.model.used_on(team_id, self.now)
                assert used.used_total == self.model.used(team_id)

    @invariant()
    def every_job_has_one_result_for_each_split(self):
        with self.service.database.read() as session:
            counted = select(func.count(), func.count(func.distinct(Score.split))).group_by(
                Score.submission_id, Score.scoring_version_id
            )
            assert {tuple(row) for row in session.execute(counted)} <= {(2, 2), (3, 3)}

    def teardown(self):
        """Finish all jobs and check the invariants I1 to I8 on all tables."""
        self.score_all()
        self.to(self.now + timedelta(hours=1))
        self.score_all()
        database, storage = self.service.database, self.service.storage
        history = History(unhealthy=[storage.put(FILES["broken"]).sha256])
        found = Checker(database, storage, history, self.here.oracle).run(is_settled=True)
        assert not found.violations, "\n".join(map(str, found.violations[:9]))

    def waiting(self) -> dict[int, tuple[int, int]]:
        """Return the claimable jobs, each with its submission and its version's number."""
        with self.service.database.read() as session:
            query = (
                select(ScoringJob.id, ScoringJob.submission_id, ScoringVersion.number)
                .join(ScoringJob.scoring_version)
                .where(leased_rows.is_free(ScoringJob, self.now))
                .order_by(ScoringJob.id)
            )
            return {
                job_id: (submission_id, number) for job_id, submission_id, number in session.execute(query)
            }

    def version_id(self, number: int) -> int:
        with self.service.database.read() as session:
            return preparation.get(session, competition=self.here.competition, number=number).id

    def any_sent(self, data: st.DataObject):
        return self.model.sent[data.draw(st.sampled_from(sorted(self.model.sent)))]


def lines(rows) -> list[tuple[str, int, Decimal]]:
    """Return the ranked rows of a leaderboard, whose ranks must be 1, 2, 3 and so on."""
    ranked = [row for row in rows if not row.is_benchmark]
    assert [row.rank for row in ranked] == list(range(1, len(ranked) + 1))
    return [(row.team, row.submission_id, Decimal(row.score)) for row in ranked]


def expecting(refusal: type[Exception] | str | None) -> AbstractContextManager[Any]:
    """Expect the outcome that the model predicts: this error, or no error."""
    if isinstance(refusal, str):
        return refused(refusal)
    return nullcontext() if refusal is None else pytest.raises(refusal)


@pytest.fixture
def make_installation(
    tmp_path: Path, migrated_sqlite: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Installation]]:
    """Factory of installations whose clock advances only with actions."""
    made: list[Installation] = []
    with pytest.MonkeyPatch.context() as patch:

        def make(kind: str) -> Installation:
            url = request.getfixturevalue(f"{kind}_url")
            options = Settings(
                data_dir=tmp_path / "var",
                database_url=SecretStr(url),
                password_hash_memory_kib=8,
                secret_key=SecretStr("not so secret"),
            )
            database = Database(options.database(), pool_size=3)
            made.append(Installation(Service(database, open_storage(options.storage()), options), url))
            set_clock(patch, lambda: made[-1].clock)
            return made[-1]

        yield make
    for each in made:
        each.state.close()
        each.service.database.dispose()


@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        ("sqlite", 2),
        pytest.param("sqlite", 2_000, marks=[pytest.mark.long, pytest.mark.timeout(7200)]),
        pytest.param("postgresql", 500, marks=[pytest.mark.long, pytest.mark.timeout(7200)]),
    ],
)
def test_leaderboards_equal_those_of_the_model_after_any_actions(
    make_installation: Callable[[str], Installation], kind: str, examples: int
):
    here = make_installation(kind)
    run_state_machine_as_test(
        lambda: BoardMachine(here),
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
