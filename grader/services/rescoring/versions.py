"""Creation of scoring versions from checked or copied solutions."""

import secrets
from dataclasses import replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    ScoringVersion,
    ScoringVersionState,
    Solution,
)
from grader.services.competitions import drafts, settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.solutions import data_checks as checks
from grader.services.solutions.intake import StoredSolution
from grader.services.submissions import scoring_jobs as jobs

CREATED_BY_MAX_LENGTH = 64
NONCE_BYTES = 32
# The fields that a stored solution and its row have in common.
_COPIED = (
    "row_ids_sha256",
    "prepared_sha256",
    "sample_submission_sha256",
    "row_count",
    "public_row_count",
    "private_row_count",
    "digest",
    "report",
)


def add(act: Act, *, solution: StoredSolution, reason: str, state: ScoringVersionState) -> ScoringVersion:
    """Add the next solution and scoring version; reuse the nonce of an identical solution."""
    session, competition = act.session, act.competition
    same = select(Solution.nonce).where(
        Solution.competition_id == competition.id, Solution.digest == solution.digest
    )
    stored = Solution(
        competition_id=competition.id,
        number=_next_number(session, Solution, competition),
        nonce=session.scalar(same.limit(1)) or secrets.token_hex(NONCE_BYTES),
        **{name: getattr(solution, name) for name in _COPIED},
        uploaded_at=act.now,
    )
    version = ScoringVersion(
        competition_id=competition.id,
        number=_next_number(session, ScoringVersion, competition),
        solution=stored,
        metric_settings=solution.rules.as_settings(),
        metric_code_version=solution.metric_code_version,
        reason=reason.replace("\0", ""),
        state=state,
        created_by=act.actor.name[:CREATED_BY_MAX_LENGTH],
        created_at=act.now,
    )
    session.add(version)
    session.flush()
    return version


def set_first(act: Act, *, solution: StoredSolution) -> ScoringVersion:
    """Make a checked solution with its metric the live version of a draft; raise OrganizerRefusal."""
    session, draft = act.session, drafts.lock(act.session, act.competition)
    before = draft.live_scoring_version
    if before is not None:
        before.state = ScoringVersionState.DROPPED
    version = add(act, solution=solution, reason="First scoring version.", state=ScoringVersionState.LIVE)
    version.published_at = act.now
    draft.live_scoring_version = version
    draft.draft_metric = solution.rules.choice(settings.of(draft).min_class_rows).as_dict()
    session.flush()
    checks.request(**act.parts)
    session.execute(jobs.missing_jobs(act.now, ScoringVersion.id == version.id))
    rules = solution.rules
    facts = {"identities": list(rules.identities)} if rules.identities else {"metric": rules.as_settings()}
    act.record(
        "solution.accept",
        f"solution {version.solution.number}",
        before={"solution": None if before is None else before.solution.number},
        after={
            "solution": version.solution.number,
            "rows": solution.row_count,
            **facts,
        },
    )
    return version


def copy_solution(act: Act, *, draft: Competition) -> None:
    """Copy the live solution of the act's competition, if any, to a draft; the blobs are shared."""
    version = act.competition.live_scoring_version
    if version is not None:
        set_first(replace(act, competition=draft), solution=_as_stored(version))


def _next_number(
    session: Session, model: type[Solution] | type[ScoringVersion], competition: Competition
) -> int:
    return (
        session.scalar(select(func.max(model.number)).where(model.competition_id == competition.id)) or 0
    ) + 1


def _as_stored(version: ScoringVersion) -> StoredSolution:
    """Return the solution of a scoring version as if it had been read from its file."""
    return StoredSolution(
        rules=Rules.of(version),
        metric_code_version=version.metric_code_version,
        **{name: getattr(version.solution, name) for name in _COPIED},
    )
