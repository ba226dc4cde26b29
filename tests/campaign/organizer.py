"""Simulated organizer: preparation, publication, rollback and cancellation of rescorings."""

import random
import threading
from contextlib import suppress

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from grader.errors import FairboardError
from grader.files import read_solution
from grader.models import ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup
from grader.services.rescoring import preparation, publication
from grader.services.rescoring.publication import RescoringIncomplete
from grader.services.solutions import intake
from tests.campaign.installation import ORGANIZER, SLUG, Installation
from tests.campaign.ledger import Ledger
from tests.campaign.plan import Plan


class Organizer(threading.Thread):
    """An organizer that performs one action after another until it is stopped."""

    def __init__(
        self,
        installation: Installation,
        *,
        plan: Plan,
        solution: bytes,
        ledger: Ledger,
        truce: threading.Event,
    ):
        super().__init__(name="organizer", daemon=True)
        self._installation = installation
        self._solution = solution
        self._ledger = ledger
        self._truce = truce
        self._pause = max(1.5, plan.seconds / 12)
        self._random = random.Random(f"{plan.seed} organizer")
        self._hints = installation.hints()

    def run(self):
        while not self._truce.wait(self._pause * (0.5 + self._random.random())):
            try:
                deed = self._act()
            except RescoringIncomplete:
                continue
            except (SQLAlchemyError, OSError) as error:
                deed = f"nothing ({type(error).__name__})"
            except FairboardError as error:
                self._ledger.surprise(f"The organizer received an error: {type(error).__name__}: {error}")
                continue
            if deed:
                self._ledger.count(self._ledger.deeds, deed)
        self._hints.close()

    def _act(self) -> str:
        with self._installation.database.read() as session:
            competition = lookup.get(session, slug=SLUG)
            version = preparation.open_version(session, competition=competition)
            retired = session.scalars(
                select(ScoringVersion.number).where(ScoringVersion.state == ScoringVersionState.RETIRED)
            ).all()
        if version is not None:
            return self._end(version)
        if retired and self._random.random() < 0.4:
            return self._roll_back(self._random.choice(retired))
        return self._prepare()

    def _prepare(self) -> str:
        corrected = read_solution(self._corrected())
        with self._installation.database.read() as session:
            live = lookup.live(lookup.get(session, slug=SLUG))
            stored = intake.store_corrected(self._installation.storage, corrected, live=live)
        with self._installation.database.write() as session:
            competition = lookup.get(session, slug=SLUG)
            version = preparation.prepare(
                session, competition=competition, solution=stored, reason="Labels.", actor=ORGANIZER
            )
        self._hints.send_rescoring(version.id)
        return "rescoring prepared"

    def _end(self, version: ScoringVersion) -> str:
        with self._installation.database.write() as session:
            if self._random.random() < 0.15:
                preparation.drop(session, scoring_version_id=version.id, actor=ORGANIZER)
                return "rescoring dropped"
            publication.publish(session, scoring_version_id=version.id, actor=ORGANIZER)
        return "rescoring published"

    def _roll_back(self, number: int) -> str:
        with self._installation.database.write() as session:
            competition = lookup.get(session, slug=SLUG)
            version = publication.roll_back(
                session, competition=competition, number=number, reason="Back.", actor=ORGANIZER
            )
        if version.state is ScoringVersionState.LIVE:
            return "rolled back"
        with suppress(SQLAlchemyError):
            self._hints.send_rescoring(version.id)
        return "rollback prepared"

    def _corrected(self) -> bytes:
        """Return the solution with the labels of some rows inverted."""
        header, *lines = self._solution.decode().splitlines()
        corrected = [header]
        for line in lines:
            row_id, label, rest = line.split(",", 2)
            if self._random.random() < 0.02:
                label = "0" if label == "1" else "1"
            corrected.append(f"{row_id},{label},{rest}")
        return ("\n".join(corrected) + "\n").encode()
