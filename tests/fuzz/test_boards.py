"""Stateful tests: the invariants hold after any actions of users, organizers and workers."""

from datetime import timedelta

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
from sqlalchemy import select

from grader.db import Database
from grader.errors import FairboardError
from grader.files import read_solution
from grader.models import ScoringJob, ScoringVersion, Submission, SubmissionKind, Team, User
from grader.services.closing import close as closing
from grader.services.competitions import lookup
from grader.services.leaderboards import rows
from grader.services.leaderboards.board import board_of
from grader.services.rescoring import preparation, publication
from grader.services.site import leased_rows
from grader.services.submissions import decisions, selections
from grader.services.submissions import scoring_jobs as scoring
from grader.services.teams import mergers
from grader.settings import Settings
from grader.storage.stores import open_storage
from grader.visibility import Phase
from grader.worker.scorer import Scorer
from tests.fixtures import stored_solutions
from tests.fixtures.databases import set_clock
from tests.fixtures.service import LEASE, NOON, Service, write_predictions, write_solution
from tests.fixtures.states import state_of
from tests.invariants.checker import Checker, History
from tests.invariants.findings import BoardLine, BoardRead
from tests.invariants.oracle import Oracle

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
numbers = st.integers(0, 99)


class Installation:
    """A competition without any events, to which every run of the state machine returns."""

    def __init__(self, service, url):
        self.service = service
        for user in USERS:
            service.user(user)
        self.competition = service.competition(
            csv=TRUTHS["first"],
            identities=IDENTITIES,
            closes_at=NOON + OPEN_FOR,
            max_daily_submissions=4,
            max_team_size=4,
            selection_count=2,
            boards=BOARDS[0],
        )
        live = lookup.live(service.reload(self.competition))
        self.corrected = {}
        for name, csv in TRUTHS.items():
            solution = read_solution(csv, label="toxicity", identities=IDENTITIES)
            self.corrected[name] = stored_solutions.store_corrected(service.storage, solution, live=live)
        self.oracle = Oracle(service.storage.read)
        self.broken = service.storage.put(FILES["broken"]).sha256
        self.state = state_of(url)


class Actions(RuleBasedStateMachine):
    """Tries actions, which may be refused only for the stated reasons."""

    def __init__(self, here):
        super().__init__()
        self.here, self.service, self.competition = here, here.service, here.competition
        here.state.restore()
        self.service.now = NOON
        self.scorer = Scorer(self.service.database, self.service.storage, lease=LEASE)

    def attempt(self, refusals, function, **given):
        """Call a service, or expect one of the refusals."""
        try:
            return self.service.act(function, **given)
        except FairboardError as refusal:
            assert refusal.public_name in refusals.split(), refusal

    def one_of(self, model, number):
        """Return one of the rows of a table, or None."""
        with self.service.database.read() as session:
            found = session.scalars(select(model).order_by(model.id)).all()
        return found[number % len(found)] if found else None

    @initialize(users=st.sets(st.sampled_from(USERS), min_size=2))
    def some_have_sent_before(self, users):
        for user in sorted(users):
            self.submit(user, "noise", 1)

    @rule(
        user=st.sampled_from(USERS),
        file=st.sampled_from(list(FILES)),
        minutes=st.integers(0, 1),
        scores=st.booleans(),
    )
    def submit(self, user, file, minutes, scores=False):
        self.service.now += timedelta(minutes=minutes)
        refusals = "competition_closed team_disqualified daily_limit_reached"
        send = lambda *_, **__: self.service.submit(self.competition, user=user, csv=FILES[file])  # noqa: E731
        self.attempt(refusals, send)
        if scores:
            self.score_all()

    @rule(hours=st.sampled_from((1, 5, 12, 24)))
    def wait(self, hours):
        self.service.now += timedelta(hours=hours)

    @rule(number=numbers, is_lost=st.booleans())
    def score_one(self, number, is_lost):
        if waiting := self.waiting():
            job_id = waiting[number % len(waiting)]
            if is_lost:  # The worker claimed the job and then disappeared.
                self.service.act(scoring.claim, job_id=job_id, lease=LEASE)
                assert not self.scorer.run(job_id)
                self.service.now += LEASE
            assert self.scorer.run(job_id)
            assert not self.scorer.run(job_id)

    @rule()
    def score_all(self):
        for job_id in self.waiting():
            assert self.scorer.run(job_id)

    @rule(number=numbers, user=st.sampled_from((None, *USERS)), is_selected=st.booleans())
    def select(self, number, user, is_selected):
        if sent := self.one_of(Submission, number):
            name = user or self.leader_of(sent.team_id)
            refusals = "unknown_submission selection_closed not_selectable too_many_selected"
            given = {"submission_id": sent.id, "is_selected": is_selected, "competition": self.competition}
            self.attempt(refusals, selections.select, user=self.service.user(name), **given)

    @rule(into=numbers, taken=numbers)
    def merge(self, into, taken):
        leader, other = (self.one_of(Team, number) for number in (into, taken))
        if leader and other and not leader.merged_into_id and not other.merged_into_id:
            refusals = (
                "unknown_team already_asked too_many_members too_many_submissions disqualified teams_frozen "
                "too_much_mail"
            )
            given = {"competition": self.competition, "user": self.service.user(self.leader_of(leader.id))}
            if request := self.attempt(refusals, mergers.request, name=other.name, **given):
                given["user"] = self.service.user(self.leader_of(other.id))
                self.attempt(refusals, mergers.accept, request_id=request.id, **given)

    @rule(number=numbers)
    def disqualify_or_reinstate(self, number):
        team = self.one_of(Team, number)
        if team and not team.merged_into_id:
            given = {"competition": self.competition, "team": team.name}
            if team.disqualified_at:
                self.attempt("", decisions.reinstate, **given)
            else:
                self.attempt("", decisions.disqualify, reason="Two accounts.", **given)

    @rule(number=numbers, kind=st.sampled_from(("normal", "hidden", "benchmark")))
    def mark(self, number, kind):
        sent = self.one_of(Submission, number)
        if sent and sent.kind is not SubmissionKind.LATE:
            given = {"competition": self.competition, "submission_id": sent.id, "kind": SubmissionKind(kind)}
            self.attempt("", decisions.mark, **given)

    @rule(solution=st.sampled_from(list(TRUTHS)))
    def prepare(self, solution):
        given = {
            "competition": self.competition,
            "solution": self.here.corrected[solution],
            "reason": "Labels.",
        }
        self.attempt("rescoring_under_way", preparation.prepare, **given)

    @rule(number=numbers, is_dropped=st.booleans(), scores=st.booleans())
    def publish_or_drop(self, number, is_dropped, scores):
        if scores:
            self.score_all()
        version, function = self.one_of(ScoringVersion, number), publication.publish
        if is_dropped:
            function = preparation.drop
        given = {"competition": self.competition, "number": version.number}
        self.attempt("rescoring_incomplete not_preparing", function, **given)

    @rule(number=numbers)
    def roll_back(self, number):
        version = self.one_of(ScoringVersion, number)
        given = {"competition": self.competition, "number": version.number, "reason": "Back."}
        self.attempt("not_retired rescoring_under_way", publication.roll_back, **given)

    @rule(boards=st.sampled_from(BOARDS))
    def change_named_leaderboards(self, boards):
        self.attempt("", rows.change_settings, competition=self.competition, changes={"boards": boards})

    @rule(is_due=st.integers(0, 4))
    def close(self, is_due):
        if is_due == 4:
            self.service.now = max(self.service.now, NOON + OPEN_FOR)

    @precondition(lambda self: self.service.now >= NOON + OPEN_FOR)
    @rule(function=st.sampled_from((closing.settle, closing.reveal)), scores=st.booleans())
    def settle_or_reveal(self, function, scores):
        if scores:
            self.score_all()
        self.attempt("scoring_pending already_revealed", function, competition=self.competition)

    @invariant()
    def all_invariants_hold(self):
        with self.service.database.read() as session:
            competition = lookup.get(session, slug=self.competition.slug)
            board = board_of(session, competition=competition, phase=Phase.OPEN)
        lines = [BoardLine(row.rank, row.team, row.score) for row in board.rows if not row.is_benchmark]
        self.check(False, BoardRead(competition.slug, board.scoring_version, tuple(lines)))

    def teardown(self):
        """Finish all jobs, and check again."""
        self.score_all()
        self.service.now += timedelta(hours=1)
        self.score_all()
        self.check(True)

    def check(self, is_settled, *reads):
        history = History(unhealthy=[self.here.broken], board_reads=reads)
        checker = Checker(self.service.database, self.service.storage, history, self.here.oracle)
        found = checker.run(is_settled=is_settled)
        assert not found.violations, "\n".join(map(str, found.violations[:9]))

    def waiting(self):
        """Return the claimable jobs."""
        with self.service.database.read() as session:
            is_free = leased_rows.is_free(ScoringJob, self.service.now)
            return list(session.scalars(select(ScoringJob.id).where(is_free).order_by(ScoringJob.id)))

    def leader_of(self, team_id):
        with self.service.database.read() as session:
            return session.get_one(User, session.get_one(Team, team_id).leader_id).name


@pytest.fixture
def make_installation(tmp_path, migrated_sqlite, request):
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
            service = Service(database, open_storage(options.storage()), options)
            set_clock(patch, lambda: service.now)
            made.append(Installation(service, url))
            return made[-1]

        yield make
    for each in made:
        each.state.close()
        each.service.database.dispose()


@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        ("sqlite", 3),
        pytest.param("sqlite", 2_000, marks=[pytest.mark.long, pytest.mark.timeout(7200)]),
        pytest.param("postgresql", 500, marks=[pytest.mark.long, pytest.mark.timeout(7200)]),
    ],
)
def test_invariants_hold_after_any_actions(make_installation, kind, examples):
    here = make_installation(kind)
    run_state_machine_as_test(
        lambda: Actions(here),
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
