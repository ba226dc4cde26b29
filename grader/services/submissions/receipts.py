"""Score receipts: complete for organizers, shortened for teams.

A team's receipt is also complete once the solution is published.
"""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from fairboard.interface import Recounted
from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.models import Competition, Score, ScoringVersion, Split, Submission
from grader.receipts import Receipt
from grader.receipts.receipt import SplitReceipt
from grader.services.competitions import metric
from grader.visibility import Field, Phase, Viewer, visible

# A receipt is verified against the exact score, so scores displayed in a coarse feedback mode are omitted.
_EXACT = {Split.PUBLIC: Field.PUBLIC_EXACT, Split.PRIVATE: Field.PRIVATE_SCORE}


class CommitmentPending(ParticipantError):
    """The commitment to a cloned solution is still being computed."""

    public_name = "commitment_pending"
    kind = ErrorKind.NOT_YET
    retry_after = timedelta(seconds=30)
    message = "The commitment to the solution is not ready yet. Try again in a minute."


def whole(session: Session, *, submission: Submission, version: ScoringVersion) -> Receipt:
    """Return the complete receipt of a submission; raise Refusal or CommitmentPending."""
    report = version.solution.report
    return _receipt(
        submission,
        version,
        {score.split.value: _everything(score, version) for score in _scores(session, submission, version)},
        nonce=version.solution.nonce,
        label=report.get("label"),
        identities=tuple(each["name"] for each in report.get("identities", ())) or None,
    )


def visible_to(
    session: Session, *, submission: Submission, viewer: Viewer, phase: Phase, number: int | None = None
) -> Receipt:
    """Return the part of a receipt that `viewer` may see; raise Refusal or CommitmentPending.

    Until the solution is published, a team's receipt contains the displayed score of each visible split;
    afterwards, it is complete. Organizers may request a scoring version by its number; all other receipts
    are for the live version.
    """
    competition = submission.competition
    version_number = number if viewer is Viewer.ORGANIZER else None
    version = _version(session, competition, version_number)
    if version is None:
        message = f"Submission #{submission.id} has no score and therefore no receipt."
        raise Refusal("no_receipt", ErrorKind.NOT_FOUND, message)
    if viewer is Viewer.ORGANIZER or competition.solution_published_at is not None:
        return whole(session, submission=submission, version=version)
    shown = {
        score.split.value: SplitReceipt(_shown(score, version))
        for score in _scores(session, submission, version)
        if visible(_EXACT[score.split], viewer, phase, competition.feedback)
    }
    return _receipt(submission, version, shown)


def _version(session: Session, competition: Competition, number: int | None) -> ScoringVersion | None:
    if number is None:
        return competition.live_scoring_version
    return session.scalar(
        select(ScoringVersion)
        .where(ScoringVersion.competition_id == competition.id, ScoringVersion.number == number)
        .options(joinedload(ScoringVersion.solution))
    )


def _scores(session: Session, submission: Submission, version: ScoringVersion) -> Sequence[Score]:
    """Return the scores of a submission, public first; raise Refusal."""
    scores = session.scalars(
        select(Score)
        .where(Score.submission_id == submission.id, Score.scoring_version_id == version.id)
        .order_by(Score.split.desc())
    ).all()
    if not scores:
        message = f"Submission #{submission.id} has no score and therefore no receipt."
        raise Refusal("no_receipt", ErrorKind.NOT_FOUND, message)
    return scores


def _receipt(
    submission: Submission,
    version: ScoringVersion,
    splits: dict[str, SplitReceipt],
    *,
    nonce: str | None = None,
    label: str | None = None,
    identities: tuple[str, ...] | None = None,
) -> Receipt:
    if version.solution.commitment is None:
        raise CommitmentPending
    scorer = metric.of_version(version)
    about = None if isinstance(scorer, Recounted) else scorer.describe()
    return Receipt(
        competition=submission.competition.slug,
        submission=submission.id,
        file=submission.sha256,
        scoring_version=version.number,
        solution_number=version.solution.number,
        metric_settings=version.metric_settings,
        metric_code_version=version.metric_code_version,
        splits=splits,
        commitment=version.solution.commitment,
        nonce=nonce,
        label=label,
        identities=identities,
        exactness=None if about is None else about.exactness.value,
        decimals=None if about is None else about.decimals,
    )


def _everything(score: Score, version: ScoringVersion) -> SplitReceipt:
    terms = {term: score.terms[term] for term in metric.term_names(version) if term in score.terms}
    shown = _shown(score, version)
    if isinstance(metric.of_version(version), Recounted):
        return SplitReceipt(shown, score.score, terms, counts=score.evidence)
    groups = {
        column: {name: {"rows": each["rows"], "score": each["score"]} for name, each in table.items()}
        for column, table in score.groups.items()
    }
    return SplitReceipt(shown, score.score, terms, evidence=score.evidence, groups=groups or None)


def _shown(score: Score, version: ScoringVersion) -> str:
    return version.scale.text(version.scale.units(score.score))
