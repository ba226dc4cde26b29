"""Scheduled tasks: daily ranks and looks, retries, deadlines, settling and revealing competitions."""

import logging

from grader import db
from grader.db import Database
from grader.models import Competition
from grader.services.audit.log import Actor
from grader.services.closing import close
from grader.services.competitions import lookup
from grader.services.fair_play import report as fair_play
from grader.services.integrations import deadlines
from grader.services.leaderboards import ties
from grader.services.scoring import retries
from grader.services.standings import rows

logger = logging.getLogger(__name__)


class Calendar:
    """Does what is due; asked again and again by the sweeper. Several may run at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: set[str] = set()

    def run_due(self) -> None:
        """Do everything that is due now."""
        with self._database.read() as session:
            now = db.now(session)
            unranked = rows.without_daily_ranks(session, now=now)
            unsettled = close.unsettled(session, now=now)
            due = close.due(session, now=now)
            is_retry_due = retries.is_retry_due(session, now=now)
            is_deadline_near = deadlines.is_due(session, now=now)
            unlooked = fair_play.due(session, now=now)
            uncompared = ties.due(session, now=now)
        if is_retry_due:
            with self._database.write() as session:
                retries.retry_failed(session, now=now)
        if is_deadline_near:
            with self._database.write() as session:
                deadlines.tell(session, now=now)
        for competition in unranked:
            self._note_ranks(competition)
        for competition in unsettled:
            self._settle(competition)
        for competition in due:
            self._reveal(competition)
        for competition in unlooked:
            self._look(competition)
        for competition in uncompared:
            self._compare(competition)

    def _compare(self, competition: Competition) -> None:
        with self._database.write() as session:
            locked, now = lookup.lock(session, competition_id=competition.id), db.now(session)
            if any(each.id == locked.id for each in ties.due(session, now=now)):
                ties.request(session, competition=locked, actor=None, now=now)

    def _look(self, competition: Competition) -> None:
        with self._database.write() as session:
            locked, now = lookup.lock(session, competition_id=competition.id), db.now(session)
            if any(each.id == locked.id for each in fair_play.due(session, now=now)):
                fair_play.request(session, competition=locked, actor=None, now=now)

    def _note_ranks(self, competition: Competition) -> None:
        with self._database.read() as session:
            now = db.now(session)
            ranks = rows.compute_daily_ranks(session, competition=competition, now=now)
        with self._database.write() as session:
            rows.write_daily_ranks(session, competition=competition, ranks=ranks, now=now)

    def _settle(self, competition: Competition) -> None:
        try:
            with self._database.write() as session:
                close.settle(session, competition=competition)
        except (close.ScoringPending, close.NotClosed):
            return  # since it was looked at, a failed file was taken up again or the close was put off
        logger.info("%s is settled: everything accepted in time has its result.", competition.slug)

    def _reveal(self, competition: Competition) -> None:
        try:
            with self._database.write() as session:
                close.reveal(session, competition=competition, actor=Actor.calendar())
        except close.AlreadyRevealed:
            return
        except close.ScoringPending as error:
            if competition.slug not in self._waiting:
                self._waiting.add(competition.slug)
                logger.warning("The reveal of %s waits. %s", competition.slug, error.message)
            return
        logger.info("The private leaderboard of %s was revealed as its date said.", competition.slug)
