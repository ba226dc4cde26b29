"""The invariants I1 to I8: what holds of an installation, whatever was done to it.

The checker reads the tables as they are and believes none of them: what was sent comes from the clients'
histories, bytes from the storage, scores from the recount of `grader.receipts`, and boards, quotas and
statuses are derived here once more, in the slowest and plainest way.

- I1 Every acknowledged upload is stored once, with the bytes that were sent, and ends `scored`.
- I2 An upload without an answer exists once or not at all; a refused one does not exist.
- I3 Everything accepted has come to an end.
- I4 Stored scores and counts are those of the recount, bit for bit.
- I5 A board is the pure function of submissions and scoring version, and no read mixes two.
- I6 The slots that a team uses are those of its rows that hold one, and no more than its limits.
- I7 Nothing that participants received before the reveal has a private score in it.
- I8 A submission has one job, and one result per split, under a scoring version.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from decimal import Decimal
from typing import TypeVar

from sqlalchemy import select

from grader.db import Base, Database
from grader.models import (
    Competition,
    JobState,
    Score,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Solution,
    Split,
    Standing,
    Submission,
    SubmissionGrant,
    SubmissionKind,
    SubmissionStatus,
    Team,
)
from grader.receipts.recount import TERMS
from grader.receipts.verification import shown
from grader.services import canonical_solutions
from grader.storage import BlobDamaged, BlobMissing, Storage
from tests.campaign.oracle import Oracle, Recounted

Row = TypeVar("Row", bound=Base)
INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8")
LOST, DOUBLED, WRONG, STUCK = "lost", "doubled", "wrong", "stuck"
STATUS_OF = {
    JobState.WAITING: SubmissionStatus.PENDING,
    JobState.CLAIMED: SubmissionStatus.PENDING,
    JobState.DONE: SubmissionStatus.SCORED,
    JobState.REJECTED: SubmissionStatus.REJECTED,
    JobState.FAILED: SubmissionStatus.FAILED,
}
OPEN = (JobState.WAITING, JobState.CLAIMED)
COUNTED = (SubmissionKind.NORMAL, SubmissionKind.LATE)
HOLDS_A_SLOT = (SubmissionStatus.PENDING, SubmissionStatus.SCORED)
DECIMALS = re.compile(r"(?<![\w.])\d\.\d{5,}(?!\d)")


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A line of a leaderboard as somebody read it."""

    rank: int
    team: str
    score: str


@dataclass(frozen=True, slots=True)
class BoardRead:
    """A page of a public leaderboard as the API gave it."""

    competition: str
    scoring_version: int
    lines: tuple[BoardLine, ...]


@dataclass(frozen=True, slots=True)
class History:
    """What clients saw. Files are named by their sha256; one of `unhealthy` may end rejected or failed.

    `acknowledged` has the submission's id for each file that was answered with one. `texts` are answers that
    participants got before the reveal, and logs.
    """

    acknowledged: Mapping[int, str] = field(default_factory=dict)
    unanswered: Collection[str] = ()
    refused: Collection[str] = ()
    unhealthy: Collection[str] = ()
    board_reads: Sequence[BoardRead] = ()
    texts: Iterable[str] = ()

    def with_texts(self, texts: Iterable[str]) -> "History":
        """Return the same history with further answers or logs."""
        return replace(self, texts=[*self.texts, *texts])


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must not be."""

    invariant: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant} ({self.kind}): {self.text}"


@dataclass
class Findings:
    """What the checker found, and how many things it looked at, by invariant."""

    violations: list[Violation] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def expect(self, holds: object, invariant: str, kind: str, text: str) -> bool:
        self.checked[invariant] += 1
        if not holds:
            self.violations.append(Violation(invariant, kind, text))
        return bool(holds)

    def count(self, kind: str) -> int:
        return sum(violation.kind == kind for violation in self.violations)


class Snapshot:
    """All rows that the invariants speak of, as one transaction sees them."""

    def __init__(self, database: Database) -> None:
        with database.read() as session:

            def load(model: type[Row]) -> list[Row]:
                return list(session.scalars(select(model).order_by(model.__table__.c.id)))

            self.competitions = {each.id: each for each in load(Competition)}
            self.solutions = {each.id: each for each in load(Solution)}
            self.versions = {each.id: each for each in load(ScoringVersion)}
            self.teams = {each.id: each for each in load(Team)}
            self.submissions = {each.id: each for each in load(Submission)}
            self.jobs, self.scores = load(ScoringJob), load(Score)
            self.standings, self.grants = load(Standing), load(SubmissionGrant)
        self.scores_of: dict[tuple[int, int], dict[Split, Score]] = defaultdict(dict)
        for score in self.scores:
            self.scores_of[score.submission_id, score.scoring_version_id][score.split] = score

    def live(self, submission: Submission) -> int | None:
        return self.competitions[submission.competition_id].live_scoring_version_id


@dataclass
class Checker:
    """Checks one installation against one history; `oracle` may be kept for the next time."""

    database: Database
    storage: Storage
    history: History
    oracle: Oracle
    findings: Findings = field(default_factory=Findings)

    def run(self, *, is_settled: bool = True) -> Findings:
        """Check everything; while something is still under way it need not have come to an end."""
        self.rows = Snapshot(self.database)
        self._check_acknowledged(is_settled)
        self._check_unanswered()
        self._check_ends(is_settled)
        self._check_results()
        self._check_scores()
        self._check_standings()
        self._check_board_reads()
        self._check_slots()
        self._check_secrets()
        return self.findings

    def _check_acknowledged(self, is_settled: bool) -> None:
        ids = Counter(each.sha256 for each in self.rows.submissions.values())
        answers = Counter(self.history.acknowledged.values())
        for submission_id, sha256 in self.history.acknowledged.items():
            name = f"acknowledged submission {submission_id}"
            row = self.rows.submissions.get(submission_id)
            if not self.findings.expect(row is not None, "I1", LOST, f"{name} is not in the database."):
                continue
            self.findings.expect(row.sha256 == sha256, "I1", WRONG, f"{name} has other bytes than were sent.")
            if answers[sha256] == 1:
                text = f"{name} stands {ids[sha256]} times in the database."
                self.findings.expect(ids[sha256] <= 1, "I1", DOUBLED, text)
            if sha256 not in self.history.unhealthy and (
                is_settled or row.status is not SubmissionStatus.PENDING
            ):
                text = f"{name} is healthy and {row.status} (incident {row.incident}, {row.problems})."
                kind = STUCK if row.status is SubmissionStatus.PENDING else LOST
                self.findings.expect(row.status is SubmissionStatus.SCORED, "I1", kind, text)
        for sha256 in {each.sha256 for each in self.rows.submissions.values()}:
            problem = self._damage(sha256)
            self.findings.expect(problem is None, "I1", LOST, f"A file of a submission: {problem}")

    def _damage(self, sha256: str) -> str | None:
        try:
            self.storage.read(sha256)
        except (BlobMissing, BlobDamaged) as error:
            return str(error)
        return None

    def _check_unanswered(self) -> None:
        count = Counter(each.sha256 for each in self.rows.submissions.values())
        for sha256 in self.history.unanswered:
            text = f"The unanswered upload {sha256} stands {count[sha256]} times in the database."
            self.findings.expect(count[sha256] <= 1, "I2", DOUBLED, text)
        for sha256 in self.history.refused:
            text = f"The refused upload {sha256} stands in the database."
            self.findings.expect(not count[sha256], "I2", WRONG, text)
        keys = Counter(
            (each.team_id, each.idempotency_key)
            for each in self.rows.submissions.values()
            if each.idempotency_key is not None
        )
        for (team_id, key), number in keys.items():
            text = f"Team {team_id} has {number} submissions with the Idempotency-Key {key}."
            self.findings.expect(number == 1, "I2", DOUBLED, text)

    def _check_ends(self, is_settled: bool) -> None:
        live = {(job.submission_id, job.scoring_version_id): job for job in self.rows.jobs}
        for submission in self.rows.submissions.values():
            job = live.get((submission.id, self.rows.live(submission) or 0))
            if self.findings.expect(
                job is not None, "I3", LOST, f"Submission {submission.id} has no job under the live version."
            ):
                text = f"Submission {submission.id} is {submission.status}, its job is {job.state}."
                self.findings.expect(submission.status is STATUS_OF[job.state], "I3", WRONG, text)
        for job in self.rows.jobs:
            healthy = self.rows.submissions[job.submission_id].sha256 not in self.history.unhealthy
            name = f"Job {job.id} (submission {job.submission_id}, version {job.scoring_version_id})"
            if is_settled:
                self.findings.expect(job.state not in OPEN, "I3", STUCK, f"{name} is {job.state}.")
            text = f"{name} has failed (incident {job.incident})."
            self.findings.expect(job.state is not JobState.FAILED or not healthy, "I3", LOST, text)

    def _check_results(self) -> None:
        jobs = Counter((job.submission_id, job.scoring_version_id) for job in self.rows.jobs)
        for (submission_id, version_id), number in jobs.items():
            text = f"Submission {submission_id} has {number} jobs under version {version_id}."
            self.findings.expect(number == 1, "I8", DOUBLED, text)
        scores = Counter(
            (each.submission_id, each.scoring_version_id, each.split) for each in self.rows.scores
        )
        for (submission_id, version_id, split), number in scores.items():
            text = f"Submission {submission_id} has {number} {split} scores under version {version_id}."
            self.findings.expect(number == 1, "I8", DOUBLED, text)
        for job in self.rows.jobs:
            found = len(self.rows.scores_of.get((job.submission_id, job.scoring_version_id), ()))
            expected = len(Split) if job.state is JobState.DONE else 0
            text = f"Job {job.id} is {job.state} and has {found} scores."
            self.findings.expect(found == expected, "I8", WRONG, text)

    def _check_scores(self) -> None:
        ways = {version.id: self._way(version) for version in self.rows.versions.values()}
        files = {
            (submission_id, version_id): (ways[version_id], self.rows.submissions[submission_id].sha256)
            for submission_id, version_id in self.rows.scores_of
        }
        readable = {sha256: not self._damage(sha256) for _, sha256 in files.values()}
        known = self.oracle.recount([each for each in files.values() if readable[each[1]]])
        for key, scores in self.rows.scores_of.items():
            recounted = known.get(files[key], "its file cannot be read")
            name = f"Submission {key[0]} under version {key[1]}"
            text = f"{name} has scores, and the recount says: {recounted}"
            if self.findings.expect(not isinstance(recounted, str), "I4", WRONG, text):
                for split, score in scores.items():
                    for problem in _differences(score, recounted[split.value]):
                        self.findings.expect(False, "I4", WRONG, f"{name}, {split}: {problem}")
                    self.findings.checked["I4"] += 1

    def _way(self, version: ScoringVersion) -> str:
        solution = self.rows.solutions[version.solution_id]
        way = f"{solution.prepared_sha256} {version.metric_settings!r}"
        if way not in self.oracle.ways:
            data = b"".join(canonical_solutions.pieces(self.storage, solution=solution))
            self.oracle.add(way, solution=data, settings=version.metric_settings)
        return way

    def _check_standings(self) -> None:
        written: dict[tuple[int, Split], dict[int, tuple[int, str]]] = defaultdict(dict)
        for row in self.rows.standings:
            board = written[row.scoring_version_id, row.split]
            text = f"Team {row.team_id} stands twice on the {row.split} board of {row.scoring_version_id}."
            self.findings.expect(row.team_id not in board, "I5", DOUBLED, text)
            board[row.team_id] = row.submission_id, f"{Decimal(row.score_units).scaleb(-5):.5f}"
        for version_id, split in self._boards_in_use():
            expected, found = dict(self._best(version_id, split)), written[version_id, split]
            for team_id in expected.keys() | found.keys():
                text = (
                    f"Team {team_id} stands on the {split} board of version {version_id} with "
                    f"{found.get(team_id)}; expected {expected.get(team_id)}."
                )
                self.findings.expect(found.get(team_id) == expected.get(team_id), "I5", WRONG, text)

    def _boards_in_use(self) -> Iterator[tuple[int, Split]]:
        for version in self.rows.versions.values():
            if version.state in (ScoringVersionState.LIVE, ScoringVersionState.PREPARING):
                yield version.id, Split.PUBLIC
            is_settled = self.rows.competitions[version.competition_id].settled_at is not None
            if is_settled and version.state is ScoringVersionState.LIVE:
                yield version.id, Split.PRIVATE

    def _best(self, version_id: int, split: Split) -> Iterator[tuple[int, tuple[int, str]]]:
        """Yield each team's entry: its best public one, or the better of those that compete."""
        competition = self.rows.competitions[self.rows.versions[version_id].competition_id]
        teams: dict[int, list[Submission]] = defaultdict(list)
        for submission_id, scored_version in self.rows.scores_of:
            submission = self.rows.submissions[submission_id]
            ranks = submission.kind is SubmissionKind.NORMAL
            if (
                scored_version == version_id
                and ranks
                and not self.rows.teams[submission.team_id].disqualified_at
            ):
                teams[submission.team_id].append(submission)
        for team_id, own in teams.items():

            def order(submission: Submission, on: Split = Split.PUBLIC) -> tuple[Decimal, object, int]:
                return (
                    -Decimal(self._shown(submission, version_id, on)),
                    submission.submitted_at,
                    submission.id,
                )

            if split is Split.PUBLIC:
                best = min(own, key=order)
            else:
                by_choice = sorted(own, key=lambda each: (not each.is_selected, order(each)))
                best = min(by_choice[: competition.selection_count], key=lambda each: order(each, split))
            yield team_id, (best.id, self._shown(best, version_id, split))

    def _shown(self, submission: Submission, version_id: int, split: Split) -> str:
        return shown(self.rows.scores_of[submission.id, version_id][split].score) or ""

    def _check_board_reads(self) -> None:
        """Check that every line is a score which its team has under the one version that the page names."""
        numbers = {
            (self.rows.competitions[version.competition_id].slug, version.number): version.id
            for version in self.rows.versions.values()
        }
        has: dict[int, set[tuple[str, str]]] = defaultdict(set)
        for submission_id, version_id in self.rows.scores_of:
            submission = self.rows.submissions[submission_id]
            team = self.rows.teams[submission.team_id].name
            if Split.PUBLIC in self.rows.scores_of[submission_id, version_id]:
                has[version_id].add((team, self._shown(submission, version_id, Split.PUBLIC)))
        for read in self.history.board_reads:
            name = f"A page of the board of {read.competition}, version {read.scoring_version},"
            version_id = numbers.get((read.competition, read.scoring_version))
            strange = [line for line in read.lines if (line.team, line.score) not in has[version_id or 0]]
            text = f"{name} has lines which that version does not give, such as {strange[:1]}."
            self.findings.expect(not strange, "I5", WRONG, text)
            ranks = [line.rank for line in read.lines]
            in_order = sorted(read.lines, key=lambda line: -Decimal(line.score))
            is_ranked = (
                ranks == list(range(1, len(ranks) + 1)) if ranks[:1] == [1] else ranks == sorted(ranks)
            )
            is_total = is_ranked and len({line.team for line in read.lines}) == len(read.lines)
            text = f"{name} is not in one order: {ranks[:5]}…"
            self.findings.expect(is_total and in_order == list(read.lines), "I5", WRONG, text)

    def _check_slots(self) -> None:
        used: Counter[tuple[int, object]] = Counter()
        for submission in self.rows.submissions.values():
            holds = submission.kind in COUNTED and submission.status in HOLDS_A_SLOT
            day = submission.submitted_at.astimezone(UTC).date() if holds else None
            name = f"Submission {submission.id} ({submission.status})"
            text = f"{name} has the slot {submission.slot_day}, not {day}."
            self.findings.expect(submission.slot_day == day, "I6", WRONG, text)
            used[submission.team_id, submission.slot_day] += submission.slot_day is not None
        merged = {team.merged_into_id for team in self.rows.teams.values()}
        for team_id in {team_id for team_id, _ in used} - merged:
            competition = self.rows.competitions[self.rows.teams[team_id].competition_id]
            own = {day: number for (team, day), number in used.items() if team == team_id and day}
            for day, number in own.items():
                limit = self._raised(competition.max_daily_submissions, competition.id, team_id, day)
                text = f"Team {team_id} uses {number} slots of {day}; {limit} are allowed."
                self.findings.expect(limit is None or number <= limit, "I6", WRONG, text)
            limit = self._raised(competition.max_total_submissions, competition.id, team_id)
            text = f"Team {team_id} uses {sum(own.values())} slots in all; {limit} are allowed."
            self.findings.expect(limit is None or sum(own.values()) <= limit, "I6", WRONG, text)

    def _raised(self, limit: int | None, competition_id: int, team_id: int, day: object = None) -> int | None:
        if limit is None:
            return None
        return limit + sum(
            grant.count
            for grant in self.rows.grants
            if grant.competition_id == competition_id
            and grant.team_id in (None, team_id)
            and day in (None, grant.day)
        )

    def _check_secrets(self) -> None:
        """Look for private scores and terms, exact or as shown, which are no public ones as well."""
        values: dict[Split, set[str]] = {split: set() for split in Split}
        for score in self.rows.scores:
            exact = [score.score, *(getattr(score, term) for term in TERMS)]
            values[score.split] |= {repr(each) for each in exact} | {shown(each) or "" for each in exact}
        secret = values[Split.PRIVATE] - values[Split.PUBLIC]
        for text in self.history.texts:
            found = [each for each in DECIMALS.findall(text) if each in secret]
            self.findings.expect(not found, "I7", WRONG, f"{found[:3]} of the private split: {text[:200]}")


def _differences(score: Score, recounted: Recounted) -> Iterator[str]:
    for name, value in recounted.values.items():
        if getattr(score, name) != value:
            yield f"{name} is {getattr(score, name)!r}; the recount gives {value!r}"
    counts = dict(recounted.counts)
    stored = {each["name"]: each for each in score.counts["identities"] if each["in_score"]}
    counted = {each["name"]: each for each in counts.pop("identities")}
    if stored != counted:
        yield f"the counts are {stored}; the recount gives {counted}"
    for name, number in counts.items():
        if score.counts[name] != number:
            yield f"{name} is {score.counts[name]}; the recount gives {number}"
