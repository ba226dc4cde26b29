"""Identities that can be in a draft's score, from its solution's report; have a choice of them checked.

The web opens no labels: what can be chosen follows from the report's counts, and a worker checks a choice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.files import ColumnRole
from grader.models import Competition, JobState, OrganizerJob, ScoringVersion
from grader.services.audit.log import Actor
from grader.services.competitions.metric import MetricChoice, Rules
from grader.services.jobs import organizer_jobs
from grader.services.solutions import checks
from grader.text import counted


@dataclass(frozen=True, slots=True)
class Candidate:
    """A column that is an identity: its rows of each class and the largest error of its AUCs, by split.

    `why_not` says why it is not proposed; a refused one cannot be in a score.
    """

    name: str
    positives: Mapping[str, int]
    negatives: Mapping[str, int]
    errors: Mapping[str, float | None]
    is_in_score: bool
    is_refused: bool = False
    why_not: str = ""

    @property
    def least(self) -> int:
        """Its rows in its smallest class and split."""
        return min((*self.positives.values(), *self.negatives.values()), default=0)


def newest_report(session: Session, *, competition: Competition) -> Mapping[str, Any] | None:
    """Return the report of the solution in use, else of the newest check that can be accepted."""
    version = competition.live_scoring_version
    if version is not None:
        report: Mapping[str, Any] = version.solution.report
        return report if "near_misses" in report else None
    job = _checked(session, competition)
    return None if job is None else job.result["report"]


def candidates(report: Mapping[str, Any], *, min_class_rows: int) -> list[Candidate]:
    """Return the identities of a report in the order of its columns, then those that cannot be read."""
    found = [_candidate(line, report["splits"], min_class_rows) for line in report["identities"]]
    known = {each.name for each in found}
    misses = (each for each in report["near_misses"] if each["role"] == ColumnRole.IDENTITY)
    return found + [
        Candidate(each["name"], {}, {}, {}, is_in_score=False, is_refused=True, why_not=each["message"])
        for each in misses
        if each["name"] not in known
    ]


def check(
    session: Session, *, competition: Competition, choice: MetricChoice, actor: Actor, now: datetime
) -> OrganizerJob | None:
    """Have a draft's solution checked with another metric; return the job, None where there is no solution.

    The solution in use stays until the check is accepted. Without one the newest check is made again. Raises
    NotAcceptable where nothing would change, or the file is no longer kept.
    """
    if competition.live_scoring_version is not None and choice.identities is not None:
        earlier = checks.newest_settings_check(session, competition=competition)
        if earlier is not None:
            organizer_jobs.dismiss(session, job=earlier, now=now)
        rules = Rules(identities=choice.identities, metric=choice.metric)
        return checks.add_settings_check(session, competition=competition, rules=rules, actor=actor, now=now)
    job = _checked(session, competition)
    if job is None:
        return None
    columns = job.result["columns"]
    return checks.add_again(
        session,
        competition=competition,
        job=job,
        roles={each["name"]: ColumnRole(each["role"]) for each in columns},
        canaries=checks.CheckParameters.from_dict(job.parameters).canaries,
        actor=actor,
        now=now,
    )


def expected_errors(
    version: ScoringVersion | None, job: OrganizerJob | None
) -> dict[str, tuple[float | None, ...]]:
    """Return the standard errors of a score to expect, by split: in use, and with a checked choice."""
    reports = [version.solution.report] if version is not None else []
    if job is not None and job.state is JobState.DONE:
        reports.append(checks.stored_in(job).report)
    splits = reports[0]["splits"] if reports else ()
    return {split: tuple(report["splits"][split]["score_error"] for report in reports) for split in splits}


def _checked(session: Session, competition: Competition) -> OrganizerJob | None:
    newest = checks.newest(session, competition=competition, limit=1)
    return next((job for job in newest if job.state is JobState.DONE and job.result.get("report")), None)


def _candidate(line: Mapping[str, Any], splits: Mapping[str, Any], min_class_rows: int) -> Candidate:
    counts = {split: line[split] for split in splits}
    refusals = list(_undefined(counts, splits))
    found = Candidate(
        line["name"],
        positives={split: each["positives"] for split, each in counts.items()},
        negatives={split: each["negatives"] for split, each in counts.items()},
        errors={split: _largest(line["errors"][split].values()) for split in splits},
        is_in_score=line["in_score"],
    )
    if refusals:
        return _with(found, is_refused=True, why_not=f"{refusals[0]}: an AUC would be undefined.")
    if found.least < min_class_rows:
        split, kind = min(
            ((split, kind) for split in counts for kind in ("positives", "negatives")),
            key=lambda place: counts[place[0]][place[1]],
        )
        rows = counted(found.least, f"{kind.removesuffix('s')} row")
        return _with(
            found,
            is_refused=False,
            why_not=f"Only {rows} in the {split} split; proposed from {min_class_rows}.",
        )
    return found


def _with(candidate: Candidate, *, is_refused: bool, why_not: str) -> Candidate:
    return Candidate(
        candidate.name,
        candidate.positives,
        candidate.negatives,
        candidate.errors,
        candidate.is_in_score,
        is_refused,
        why_not,
    )


def _undefined(counts: Mapping[str, Mapping[str, int]], splits: Mapping[str, Any]) -> Iterator[str]:
    """Yield why an AUC of an identity is undefined: no row of a class mentions it, or every one does."""
    for split, rows in counts.items():
        whole = {"positives": splits[split]["positives"]}
        whole["negatives"] = splits[split]["rows"] - whole["positives"]
        for kind in ("positives", "negatives"):
            one = kind.removesuffix("s")
            if rows[kind] == 0:
                yield f"No {one} row of the {split} split mentions it"
            elif rows[kind] == whole[kind]:
                yield f"Every {one} row of the {split} split mentions it"


def _largest(errors: Any) -> float | None:
    found = list(errors)
    return None if not found or None in found else max(found)
