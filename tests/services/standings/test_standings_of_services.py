"""The standing rows after random sequences of services: always the pure function of the submissions."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from grader.files import read_solution
from grader.models import (
    STANDING_ORDER,
    Competition,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Standing,
    Submission,
)
from grader.ranking import selection
from grader.ranking.selection import SubmissionKind
from grader.services.audit.log import Actor
from grader.services.closing import close
from grader.services.competitions import lookup, phases
from grader.services.leaderboards import leaderboard
from grader.services.moderation import decisions
from grader.services.rescoring import preparation, publication
from grader.services.solutions import intake
from grader.services.standings import rows as standing_rows
from grader.services.standings import scored_submissions
from grader.services.submissions.refusal import TeamDisqualified
from grader.services.teams import mergers, named_team, rosters
from grader.visibility import Phase
from tests.fixtures import rescorings

MINUTE = timedelta(minutes=1)
TESTS = Actor(None, "tests")
NAMES = ("ada", "bob", "cleo", "dan")
FILES = 4  # few, so that equal scores are the rule
STEPS = 40


class Organizer:
    """Does one thing after the other, each in a transaction of its own."""

    def __init__(self, service: Any, dice: random.Random, corrected: bytes) -> None:
        self.service, self.dice, self.corrected = service, dice, corrected
        self.competition = service.competition(closes_at=service.now + timedelta(days=9))
        self.clock = timedelta()

    def write(self, function: Any, **options: Any) -> Any:
        with self.service.database.write() as session:
            return function(session, competition=self.service.reload(self.competition), **options)

    def submit(self) -> None:
        self.clock += self.dice.choice((timedelta(), MINUTE))
        seed = self.dice.randrange(FILES)
        name = self.dice.choice(NAMES)
        try:
            accepted = self.service.submit(self.competition, user=name, seed=seed, after=self.clock)
        except TeamDisqualified:
            return
        if self.dice.random() < 0.9:
            self.service.score(accepted)

    def select(self) -> None:
        chance = self.dice.random()
        with self.service.database.write() as session:
            for submission in session.scalars(select(Submission)):
                submission.is_selected = self.dice.random() < chance

    def disqualify(self) -> None:
        self._try(decisions.disqualify, team=self.dice.choice(NAMES), reason="Two accounts")

    def reinstate(self) -> None:
        self._try(decisions.reinstate, team=self.dice.choice(NAMES))

    def mark(self) -> None:
        kind = self.dice.choice((SubmissionKind.NORMAL, SubmissionKind.BENCHMARK, SubmissionKind.HIDDEN))
        self._try(decisions.mark, submission_id=self.dice.randrange(1, 20), kind=kind)

    def merge(self) -> None:
        """Let one team take another in, if the competition's rules let it."""
        asking, asked = (self.service.user(name) for name in self.dice.sample(NAMES, 2))
        now = self.service.now + self.clock
        try:
            with self.service.database.write() as session:
                competition = lookup.get(session, slug="toxicity")
                one, other = (
                    rosters.find_team(session, competition=competition, user=user) for user in (asking, asked)
                )
                if one is None or other is None or one.id == other.id:
                    return
                request = mergers.request(
                    session, competition=competition, user=asking, name=other.name, now=now
                )
                mergers.accept(
                    session, competition=competition, user=other.leader, request_id=request.id, now=now
                )
        except rosters.TeamRefusal:
            return

    def rescore(self) -> None:
        competition = self.service.reload(self.competition)
        with self.service.database.read() as session:
            begun = preparation.open_version(session, competition=competition)
        if begun is None:
            columns = preparation.columns(competition)
            solution = read_solution(self.corrected, label=columns.label, identities=columns.identities)
            live = lookup.live(competition)
            stored = intake.store_corrected(self.service.storage, solution, live=live)
            self.write(preparation.prepare, solution=stored, reason="Corrected.", actor=TESTS)
            return
        self._score_all()
        with self.service.database.write() as session:
            publication.publish(session, scoring_version_id=begun.id, actor=TESTS, lose_scores=True)

    def roll_back(self) -> None:
        competition = self.service.reload(self.competition)
        with self.service.database.read() as session:
            versions = preparation.list_all(session, competition=competition)
        retired = [each.number for each in versions if each.state is ScoringVersionState.RETIRED]
        if not retired or any(each.state is ScoringVersionState.PREPARING for each in versions):
            return
        self.write(
            publication.roll_back,
            number=self.dice.choice(retired),
            reason="It was better.",
            actor=TESTS,
            lose_scores=True,
        )

    def settle(self) -> None:
        self._score_all()
        self.write(close.settle, now=self.service.now + timedelta(days=10))

    def reveal(self) -> None:
        self._score_all()
        self.write(close.reveal, actor=TESTS, now=self.service.now + timedelta(days=10))

    def _score_all(self) -> None:
        with self.service.database.read() as session:
            versions = session.scalars(select(ScoringVersion)).all()
            jobs = [
                job
                for version in versions
                for job in rescorings.open_jobs(session, scoring_version_id=version.id)
            ]
        self.service.run(*jobs)

    def _try(self, function: Any, **options: Any) -> None:
        try:
            self.write(function, actor=TESTS, **options)
        except (named_team.UnknownTeam, decisions.AlreadyDisqualified, decisions.NotDisqualified):
            pass
        except (decisions.UnknownSubmissionHere, named_team.MergedTeam):
            pass


def check(service: Any, *, private: bool) -> None:
    """Compare every board in use, its rows and its pages, with the pure function."""
    with service.database.read() as session:
        competition = lookup.get(session, slug="toxicity")
        out = scored_submissions.disqualified(session, competition_id=competition.id)
        for version in session.scalars(select(ScoringVersion)):
            if version.state not in (ScoringVersionState.LIVE, ScoringVersionState.PREPARING):
                continue
            expected = selection.compute(
                scored_submissions.scored(session, scoring_version_id=version.id),
                disqualified=out,
                selection_count=competition.selection_count,
            )
            assert stored(session, version, Split.PUBLIC) == [line.entry for line in expected.public]
            if private and version.state is ScoringVersionState.LIVE:
                assert stored(session, version, Split.PRIVATE) == [line.entry for line in expected.private]
                check_pages(session, competition, expected)


def stored(session: Any, version: ScoringVersion, split: Split) -> list[Any]:
    rows = session.scalars(
        select(Standing)
        .where(Standing.scoring_version_id == version.id, Standing.split == split)
        .order_by(*STANDING_ORDER)
    )
    return [standing_rows.to_entry(row) for row in rows]


def check_pages(session: Any, competition: Competition, expected: selection.Boards) -> None:
    if phases.phase(competition, competition.closes_at) is not Phase.REVEALED:
        return
    asked = leaderboard.Asked(page_size=3)
    board = leaderboard.private_board(session, competition=competition, phase=Phase.REVEALED, asked=asked)
    ranked = [(row.rank, row.submission_id) for row in board.rows if not row.is_benchmark]
    assert ranked == [(line.rank, line.entry.submission_id) for line in expected.private[:3]]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))])
def test_the_rows_are_the_pure_function_of_the_submissions_after_every_service(
    service: Any, seed: int, solution_csv: Callable[..., bytes]
) -> None:
    organizer = Organizer(service, random.Random(seed), solution_csv(seed=2))
    running = [organizer.submit] * 10 + [organizer.select, organizer.disqualify, organizer.reinstate]
    running += [organizer.mark, organizer.mark, organizer.merge]
    running += [organizer.rescore, organizer.rescore, organizer.roll_back]
    for _ in range(STEPS):
        organizer.dice.choice(running)()
        check(service, private=False)
    organizer.settle()
    check(service, private=True)
    afterwards = [organizer.disqualify, organizer.reinstate, organizer.mark, organizer.merge]
    afterwards += [organizer.rescore, organizer.rescore, organizer.roll_back]
    for turn in range(2):
        for _ in range(STEPS // 5):
            organizer.dice.choice(afterwards)()
            check(service, private=True)
        if turn == 0:
            organizer.reveal()
            check(service, private=True)
