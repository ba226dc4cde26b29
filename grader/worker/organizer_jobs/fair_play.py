"""Fair play job: detection of probing and similar files from cached ranks."""

import hashlib
import hmac
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from grader.fair_play import (
    FileOrder,
    Match,
    Sketch,
    TeamFiles,
    is_listed,
    matches,
    secret_rows,
    sketch_of,
)
from grader.fair_play.likeness import IndexArray
from grader.files import FileRejected, read_submission
from grader.models import Competition
from grader.services.competitions import lookup
from grader.services.fair_play import report as fair_play_files
from grader.services.fair_play.report import File, FoundPair, FoundSigns, FoundTeam, Report
from grader.services.solutions import intake
from grader.services.solutions.acceptance import LiveSolution
from grader.storage.stores import BlobMissing
from grader.worker.calculator import RANKS, EncodedCache, EncodedFile
from grader.worker.organizer_jobs.context import Work

MAX_TEAMS = 100
MAX_FILES_OF_TEAM = 20
MAX_PAIRS = 200
KEPT_ORDERS = 32
READING_SECONDS = 900
"""After this time, files without cached ranks are left to the next job; by then, more ranks are cached."""


def look(work: Work) -> dict[str, Any]:
    """Analyze the newest files of a competition."""
    work.report_progress(0, 0, "Reading the solution")
    with work.database.read() as session:
        competition = session.get_one(Competition, work.competition_id)
        version = lookup.live(competition)
        rows, row_ids_sha256 = version.solution.row_count, version.solution.row_ids_sha256
        slug, names = competition.slug, intake.other_labels(session, competition_id=competition.id)
        found, older = fair_play_files.newest_files(session, competition=competition, rows=rows)
    live = LiveSolution.load(work.storage, version)
    key = hmac.digest(work.settings.secret().encode(), f"fair play of {slug}".encode(), hashlib.sha256)
    looked = _Looked(work, _Orders(work, live, row_ids_sha256, names, found), secret_rows(key, rows))
    by_team: dict[int, list[File]] = defaultdict(list)
    for file in found:
        by_team[-file.submission_id if file.is_known else file.team_id].append(file)
    teams = [looked.team(team, sent, len(found)) for team, sent in by_team.items()]
    work.report_progress(len(found), len(found), "Comparing the teams")
    return Report(
        file_count=len(looked.files),
        team_count=sum(team > 0 for team in by_team),
        unread_count=len(found) - len(looked.files),
        older_count=older,
        teams=sorted(filter(None, teams), key=lambda team: (-team.sign_count, team.team_id))[:MAX_TEAMS],
        pairs=looked.pairs(),
    ).as_dict()


class _Orders:
    """The row orders of files by submission id; the most recently used are kept in memory."""

    def __init__(
        self,
        work: Work,
        live: LiveSolution,
        row_ids_sha256: str,
        names: tuple[str, ...],
        found: Sequence[File],
    ) -> None:
        self._storage, self._live = work.storage, live
        self._row_ids_sha256, self._names = row_ids_sha256, names
        self._columns = live.rules.columns
        self._encoding = RANKS if self._columns.is_single_number else f"order of {self._columns.names}"
        self._is_numeric = not any(each.classes or each.is_text for each in self._columns.columns)
        self._ranks = EncodedCache.of(work.settings)
        self._shas = {file.submission_id: file.sha256 for file in found}
        self._order = lru_cache(KEPT_ORDERS)(self._load)
        self._until = time.monotonic() + READING_SECONDS

    def of(self, submission_id: int) -> FileOrder | None:
        """Return the order of a file, or None if it cannot be read in time."""
        return self._order(self._shas[submission_id])

    def _load(self, sha256: str) -> FileOrder | None:
        kept = self._ranks.get(sha256, self._row_ids_sha256, self._encoding) if self._ranks else None
        return FileOrder(kept.encoded, self._is_numeric) if kept else self._read(sha256)

    def _read(self, sha256: str) -> FileOrder | None:
        if time.monotonic() > self._until:
            return None
        try:
            data = self._storage.read(sha256)
            read = read_submission(data, self._live.row_ids, other_labels=self._names, wanted=self._columns)
        except (FileRejected, BlobMissing):  # a pending file may be invalid or have been deleted
            return None
        order = FileOrder.of(read.columns)
        if self._ranks:
            ranked = EncodedFile.of(read, order.ranks)
            self._ranks.put(sha256, self._row_ids_sha256, ranked, self._encoding)
        return order


class _Looked:
    """Intermediate results: the sketches and teams of all analyzed files."""

    def __init__(self, work: Work, orders: _Orders, rows: IndexArray) -> None:
        self._work, self._orders, self._rows = work, orders, rows
        self.files: list[File] = []
        self._teams: list[int] = []
        self._sketches: list[Sketch] = []

    def team(self, team_id: int, sent: Sequence[File], total: int) -> FoundTeam | None:
        """Analyze the files of a team or a file of the organizers; return the team if the report lists it."""
        team, found = TeamFiles(self._orders.of), []
        for file in sent:
            self._work.report_progress(len(self.files), total, "Analyzing the submissions")
            order = self._orders.of(file.submission_id)
            if order is None:
                continue
            sketch = sketch_of(order, self._rows)
            self.files.append(file)
            self._teams.append(team_id)
            self._sketches.append(sketch)
            if not file.is_known:
                found.append((file, team.add(file.submission_id, order, sketch.places, auc=file.auc)))
        if not is_listed([signs for _, signs in found]):
            return None
        with_signs = [(file, signs) for file, signs in found if signs.signs]
        return FoundTeam(
            team_id=team_id,
            file_count=len(found),
            sign_count=len(with_signs),
            files=[
                FoundSigns(
                    submission_id=file.submission_id,
                    signs=tuple(signs.signs),
                    rows=signs.rows,
                    lone_levels=signs.lone_levels,
                    auc=signs.auc,
                    nearest_id=signs.nearest,
                    moved=signs.moved,
                )
                for file, signs in with_signs[:MAX_FILES_OF_TEAM]
            ],
        )

    def pairs(self) -> list[FoundPair]:
        """Return pairs of similar files from different teams, each with similar files of the organizers."""
        known: dict[bytes, set[int]] = defaultdict(set)
        between: list[Match] = []
        for match in matches(self._sketches, self._teams):
            one, other = self.files[match.one], self.files[match.other]
            if one.is_known or other.is_known:
                place = match.other if one.is_known else match.one
                known[self._sketches[place].digest].add((one if one.is_known else other).submission_id)
            else:
                between.append(match)
        return [self._pair(match, known) for match in between[:MAX_PAIRS]]

    def _pair(self, match: Match, known: Mapping[bytes, set[int]]) -> FoundPair:
        one, other = self._sketches[match.one], self._sketches[match.other]
        first, second = self.files[match.one], self.files[match.other]
        return FoundPair(
            one_id=first.submission_id,
            other_id=second.submission_id,
            has_same_bytes=first.sha256 == second.sha256,
            has_same_order=match.is_same_order,
            distinct=one.distinct,
            agreement=match.agreement,
            rows=one.places.size,
            known_ids=sorted(known.get(one.digest, set()) | known.get(other.digest, set())),
        )
