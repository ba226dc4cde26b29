"""Invariants I1 to I8 of an installation after any sequence of faults.

The checker reads the raw tables and trusts none of them. Uploads come from the clients' histories, file
contents from the storage, and scores from the recount of `grader.receipts`. Leaderboards, quotas and statuses
are derived again in the simplest way, even if that is slow.

- I1 Every acknowledged upload is stored once, with its original content, and ends as `scored`.
- I2 An upload without a response is stored at most once; a rejected one is not stored.
- I3 Every accepted submission reaches a final status.
- I4 Stored scores and counts equal those of the recount, bit for bit.
- I5 A leaderboard is a pure function of submissions and scoring version, and no response mixes versions.
- I6 The number of slots that a team has used equals the number of its rows that hold one, and does not exceed
  its limits.
- I7 No data sent to participants before the reveal contains a private score.
- I8 A submission has one job, and one result per split, under each scoring version.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC

from grader.db import Database
from grader.models import (
    JobState,
    Score,
    ScoringVersion,
    Split,
    SubmissionKind,
    SubmissionStatus,
)
from grader.receipts.receipt import shown
from grader.receipts.recount import TERMS
from grader.storage.stores import BlobDamaged, BlobMissing, Storage
from tests.invariants import boards
from tests.invariants.findings import DOUBLED, LOST, STUCK, WRONG, Findings, History
from tests.invariants.oracle import Oracle, Recounted
from tests.invariants.snapshot import Snapshot

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


@dataclass
class Checker:
    """Checks an installation against a history; `oracle` can be reused for later checks."""

    database: Database
    storage: Storage
    history: History
    oracle: Oracle
    findings: Findings = field(default_factory=Findings)

    def run(self, *, is_settled: bool = True) -> Findings:
        """Check all invariants; unless settled, submissions need not have a final status."""
        self.rows = Snapshot(self.database)
        self._check_acknowledged(is_settled)
        self._check_unanswered()
        self._check_ends(is_settled)
        self._check_results()
        self._check_scores()
        boards.check_standings(self.rows, self.findings)
        boards.check_reads(self.rows, self.history.board_reads, self.findings)
        self._check_slots()
        self._check_secrets()
        return self.findings

    def _check_acknowledged(self, is_settled: bool):
        ids = Counter(each.sha256 for each in self.rows.submissions.values())
        answers = Counter(self.history.acknowledged.values())
        for submission_id, sha256 in self.history.acknowledged.items():
            name = f"acknowledged submission {submission_id}"
            row = self.rows.submissions.get(submission_id)
            if not self.findings.expect(row is not None, "I1", LOST, f"{name} is not in the database."):
                continue
            self.findings.expect(row.sha256 == sha256, "I1", WRONG, f"{name} has different content.")
            if answers[sha256] == 1:
                text = f"{name} is stored {ids[sha256]} times in the database."
                self.findings.expect(ids[sha256] <= 1, "I1", DOUBLED, text)
            if sha256 not in self.history.unhealthy and (
                is_settled or row.status is not SubmissionStatus.PENDING
            ):
                text = f"{name} is healthy and {row.status} (incident {row.incident}, {row.problems})."
                kind = STUCK if row.status is SubmissionStatus.PENDING else LOST
                self.findings.expect(row.status is SubmissionStatus.SCORED, "I1", kind, text)
        for sha256 in {each.sha256 for each in self.rows.submissions.values()}:
            problem = self._damage(sha256)
            self.findings.expect(problem is None, "I1", LOST, f"Submission file: {problem}")

    def _damage(self, sha256: str) -> str | None:
        try:
            self.storage.read(sha256)
        except (BlobMissing, BlobDamaged) as error:
            return str(error)
        return None

    def _check_unanswered(self):
        count = Counter(each.sha256 for each in self.rows.submissions.values())
        for sha256 in self.history.unanswered:
            text = f"The upload {sha256} without a response is stored {count[sha256]} times in the database."
            self.findings.expect(count[sha256] <= 1, "I2", DOUBLED, text)
        for sha256 in self.history.refused:
            text = f"The rejected upload {sha256} is stored in the database."
            self.findings.expect(not count[sha256], "I2", WRONG, text)
        keys = Counter(
            (each.team_id, each.idempotency_key)
            for each in self.rows.submissions.values()
            if each.idempotency_key is not None
        )
        for (team_id, key), number in keys.items():
            text = f"Team {team_id} has {number} submissions with the Idempotency-Key {key}."
            self.findings.expect(number == 1, "I2", DOUBLED, text)

    def _check_ends(self, is_settled: bool):
        jobs = {(job.submission_id, job.scoring_version_id): job for job in self.rows.jobs}
        for submission in self.rows.submissions.values():
            job = jobs.get((submission.id, self.rows.live(submission) or 0))
            if job is not None:
                text = f"Submission {submission.id} is {submission.status}, its job is {job.state}."
                self.findings.expect(submission.status is STATUS_OF[job.state], "I3", WRONG, text)
            else:  # Submissions rejected before a version was prepared are not scored under it.
                text = f"Submission {submission.id} has no job under the live version."
                is_rejected = submission.status is SubmissionStatus.REJECTED
                self.findings.expect(is_rejected, "I3", LOST, text)
        for job in self.rows.jobs:
            healthy = self.rows.submissions[job.submission_id].sha256 not in self.history.unhealthy
            name = f"Job {job.id} (submission {job.submission_id}, version {job.scoring_version_id})"
            if is_settled:
                self.findings.expect(job.state not in OPEN, "I3", STUCK, f"{name} is {job.state}.")
            text = f"{name} failed (incident {job.incident})."
            self.findings.expect(job.state is not JobState.FAILED or not healthy, "I3", LOST, text)

    def _check_results(self):
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

    def _check_scores(self):
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
            text = f"{name} has scores, but the recount failed: {recounted}"
            if self.findings.expect(not isinstance(recounted, str), "I4", WRONG, text):
                for split, score in scores.items():
                    for problem in _differences(score, recounted[split.value]):
                        self.findings.expect(False, "I4", WRONG, f"{name}, {split}: {problem}")
                    self.findings.checked["I4"] += 1

    def _way(self, version: ScoringVersion) -> str:
        solution = self.rows.solutions[version.solution_id]
        way = f"{solution.prepared_sha256} {version.metric_settings!r}"
        if way not in self.oracle.ways:
            self.oracle.add(
                way, solution=self.storage.read(solution.digest), settings=version.metric_settings
            )
        return way

    def _check_slots(self):
        used: Counter[tuple[int, object]] = Counter()
        for submission in self.rows.submissions.values():
            holds = submission.kind in COUNTED and submission.status in HOLDS_A_SLOT
            day = submission.submitted_at.astimezone(UTC).date() if holds else None
            name = f"Submission {submission.id} ({submission.status})"
            text = f"{name} uses a slot of {submission.slot_day}, not {day}."
            self.findings.expect(submission.slot_day == day, "I6", WRONG, text)
            used[submission.team_id, submission.slot_day] += submission.slot_day is not None
        merged = {team.merged_into_id for team in self.rows.teams.values()}
        for team_id in {team_id for team_id, _ in used} - merged:
            competition = self.rows.competitions[self.rows.teams[team_id].competition_id]
            own = {day: number for (team, day), number in used.items() if team == team_id and day}
            for day, number in own.items():
                limit = self._raised(competition.max_daily_submissions, competition.id, team_id, day)
                text = f"Team {team_id} uses {number} slots on {day}; the limit is {limit}."
                self.findings.expect(limit is None or number <= limit, "I6", WRONG, text)
            limit = self._raised(competition.max_total_submissions, competition.id, team_id)
            text = f"Team {team_id} uses {sum(own.values())} slots in total; the limit is {limit}."
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

    def _check_secrets(self):
        """Search for exact or displayed private scores and terms that are not also public ones."""
        values: dict[Split, set[str]] = {split: set() for split in Split}
        for score in self.rows.scores:
            exact = [score.score, *(score.terms[term] for term in TERMS)]
            values[score.split] |= {repr(each) for each in exact} | {shown(each) or "" for each in exact}
        secret = values[Split.PRIVATE] - values[Split.PUBLIC]
        for text in self.history.texts:
            found = [each for each in DECIMALS.findall(text) if each in secret]
            self.findings.expect(not found, "I7", WRONG, f"Private values {found[:3]} found in: {text[:200]}")


def _differences(score: Score, recounted: Recounted) -> Iterator[str]:
    values = {"score": score.score, **score.terms}
    for name, value in recounted.values.items():
        if values[name] != value:
            yield f"{name} is {values[name]!r}; the recount returns {value!r}"
    counts = dict(recounted.counts)
    stored = {each["name"]: each for each in score.evidence["identities"] if each["in_score"]}
    counted = {each["name"]: each for each in counts.pop("identities")}
    if stored != counted:
        yield f"the counts are {stored}; the recount returns {counted}"
    for name, number in counts.items():
        if score.evidence[name] != number:
            yield f"{name} is {score.evidence[name]}; the recount returns {number}"
