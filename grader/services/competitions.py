"""Competitions: creating, finding, and their phase."""

import re
from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, ParticipantError
from grader.models import (
    Competition,
    ScoringVersion,
    ScoringVersionState,
    Solution,
)
from grader.models.competition import DELETED
from grader.services.solutions import Commitment, StoredSolution

RESERVED_SLUGS = frozenset({"list", "data", "submissions", "submission-url", "new"})

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


class NoScoringVersion(ParticipantError):
    """A draft whose solution is not there yet has neither boards nor files."""

    public_name = "no_scoring_version"

    def __init__(self) -> None:
        super().__init__("This competition has no solution yet: there is nothing to score with.")


class UnknownCompetition(ParticipantError):
    """No competition has this slug."""

    public_name = "unknown_competition"
    kind = ErrorKind.NOT_FOUND

    def __init__(self, slug: str) -> None:
        super().__init__(f"There is no competition {slug!r}.")
        self.slug = slug


def slug_problems(session: Session, slug: str) -> list[str]:
    """Return why a slug cannot be that of a new competition."""
    if not _SLUG.fullmatch(slug):
        return [
            f"The slug {slug!r} must be 1 to 40 lower-case letters, digits and hyphens, "
            "with a letter or digit at both ends."
        ]
    if slug in RESERVED_SLUGS:
        return [f"The slug {slug!r} is reserved."]
    if session.scalar(select(Competition.id).where(Competition.slug == slug)) is not None:
        return [slug_is_taken(slug)]
    return []


def slug_is_taken(slug: str) -> str:
    """Return the sentence about a slug that another competition has."""
    return f"There already is a competition {slug!r}."


def add_scoring_version(
    session: Session,
    *,
    competition: Competition,
    solution: StoredSolution,
    reason: str,
    state: ScoringVersionState,
    created_by: str,
    now: datetime,
) -> ScoringVersion:
    """Add the next solution of a competition and the scoring version that uses it.

    The same content keeps its commitment within a competition: everybody sees that it is the same.
    """
    commitment = _commitment_of_equal(session, competition, solution.digest) or solution.commitment
    stored = Solution(
        competition_id=competition.id,
        number=_next_number(session, Solution, competition),
        row_ids_sha256=solution.row_ids_sha256,
        prepared_sha256=solution.prepared_sha256,
        sample_submission_sha256=solution.sample_submission_sha256,
        row_count=solution.row_count,
        public_row_count=solution.public_row_count,
        private_row_count=solution.private_row_count,
        digest=solution.digest,
        nonce=None if commitment is None else commitment.nonce,
        commitment=None if commitment is None else commitment.value,
        report=solution.report,
        uploaded_at=now,
    )
    version = ScoringVersion(
        competition_id=competition.id,
        number=_next_number(session, ScoringVersion, competition),
        solution=stored,
        metric_settings=solution.rules.as_dict(),
        metric_code_version=solution.metric_code_version,
        reason=reason.replace("\0", ""),
        state=state,
        created_by=created_by,
        created_at=now,
    )
    session.add(version)
    session.flush()
    return version


def get(session: Session, *, slug: str) -> Competition:
    """Return a competition with its live scoring version and solution; raise UnknownCompetition."""
    if not _SLUG.fullmatch(slug):
        raise UnknownCompetition(slug)
    competition = session.scalar(_loaded().where(Competition.slug == slug))
    if competition is None:
        raise UnknownCompetition(slug)
    return competition


def list_all(session: Session) -> list[Competition]:
    """Return all competitions, the newest first."""
    query = _loaded().where(~Competition.slug.startswith(DELETED))
    return list(session.scalars(query.order_by(Competition.created_at.desc(), Competition.id.desc())))


def lock(session: Session, *, competition_id: int) -> Competition:
    """Return a competition as it is now and keep others from changing it until the transaction ends.

    Raises UnknownCompetition if it was a draft that has been deleted meanwhile.
    """
    mine = Competition.id == competition_id
    session.execute(select(Competition.id).where(mine).with_for_update(of=Competition, key_share=True))
    # Only now: a join that had waited for the lock would show no live version after a publication.
    found = session.scalars(_loaded().where(mine).execution_options(populate_existing=True)).one()
    if found.slug.startswith(DELETED):
        raise UnknownCompetition(found.slug)
    return found


def live(competition: Competition) -> ScoringVersion:
    """Return the scoring version that every board reads through; raise NoScoringVersion."""
    if competition.live_scoring_version is None:
        raise NoScoringVersion
    return competition.live_scoring_version


def _commitment_of_equal(session: Session, competition: Competition, digest: str | None) -> Commitment | None:
    found = session.execute(
        select(Solution.nonce, Solution.commitment)
        .where(
            Solution.competition_id == competition.id,
            Solution.digest.is_not(None),
            Solution.digest == digest,
            Solution.nonce.is_not(None),
        )
        .limit(1)
    ).first()
    return None if found is None else Commitment(str(found.nonce), str(found.commitment))


def _next_number(
    session: Session, model: type[Solution] | type[ScoringVersion], competition: Competition
) -> int:
    return (
        session.scalar(select(func.max(model.number)).where(model.competition_id == competition.id)) or 0
    ) + 1


def _loaded() -> Select[Competition]:
    return select(Competition).options(
        joinedload(Competition.live_scoring_version).joinedload(ScoringVersion.solution)
    )
