"""Score receipts: complete for organizers, shortened for teams until the solution is published."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from fairboard.interface import Recounted
from grader.errors import ErrorKind, Refusal
from grader.models import Competition, Score, ScoringVersion, Split, Submission
from grader.receipts import Receipt
from grader.receipts.receipt import SplitReceipt
from grader.services.competitions.metric import Rules
from grader.visibility import Field, Phase, Viewer, visible

# A receipt is verified against the exact score, so scores displayed in a coarse feedback mode are omitted.
_EXACT = {Split.PUBLIC: Field.PUBLIC_EXACT, Split.PRIVATE: Field.PRIVATE_SCORE}


def visible_to(
    session: Session, *, submission: Submission, viewer: Viewer, phase: Phase, number: int | None = None
) -> Receipt:
    """Return the part of a receipt that `viewer` may see; raise Refusal.

    Until the solution is published, a team's receipt contains the displayed score of each visible split;
    afterwards, it is complete. Organizers may request a scoring version by its number; all other receipts
    are for the live version.
    """
    competition, is_organizers = submission.competition, viewer is Viewer.ORGANIZER
    version = _version(session, competition, number if is_organizers else None)
    scores = _scores(session, submission, version)
    if version is None or not scores:
        message = f"Submission #{submission.id} has no score and therefore no receipt."
        raise Refusal("no_receipt", ErrorKind.NOT_FOUND, message)
    solution = version.solution
    is_whole = is_organizers or competition.solution_published_at is not None
    rules = Rules.of(version)
    about = None if isinstance(rules.scorer, Recounted) else rules.about
    report = solution.report if is_whole else {}
    return Receipt(
        competition=competition.slug,
        submission=submission.id,
        file=submission.sha256,
        scoring_version=version.number,
        solution_number=solution.number,
        metric_settings=version.metric_settings,
        metric_code_version=version.metric_code_version,
        splits={
            score.split.value: _everything(score, version)
            if is_whole
            else SplitReceipt(_shown(score, version))
            for score in scores
            if is_whole or visible(_EXACT[score.split], viewer, phase, competition.feedback)
        },
        commitment=solution.commitment,
        nonce=solution.nonce if is_whole else None,
        label=report.get("label"),
        identities=tuple(each["name"] for each in report.get("identities", ())) or None,
        exactness=None if about is None else about.exactness.value,
        decimals=None if about is None else about.decimals,
    )


def _version(session: Session, competition: Competition, number: int | None) -> ScoringVersion | None:
    if number is None:
        return competition.live_scoring_version
    return session.scalar(
        select(ScoringVersion)
        .where(ScoringVersion.competition_id == competition.id, ScoringVersion.number == number)
        .options(joinedload(ScoringVersion.solution))
    )


def _scores(session: Session, submission: Submission, version: ScoringVersion | None) -> Sequence[Score]:
    """Return the scores of a submission, public first."""
    if version is None:
        return []
    is_its = Score.submission_id == submission.id, Score.scoring_version_id == version.id
    return session.scalars(select(Score).where(*is_its).order_by(Score.split.desc())).all()


def _everything(score: Score, version: ScoringVersion) -> SplitReceipt:
    rules = Rules.of(version)
    terms = {term: score.terms[term] for term in rules.term_names if term in score.terms}
    shown = _shown(score, version)
    if isinstance(rules.scorer, Recounted):
        return SplitReceipt(shown, score.score, terms, counts=score.evidence)
    groups = {
        column: {name: {"rows": each["rows"], "score": each["score"]} for name, each in table.items()}
        for column, table in score.groups.items()
    }
    return SplitReceipt(shown, score.score, terms, evidence=score.evidence, groups=groups or None)


def _shown(score: Score, version: ScoringVersion) -> str:
    return version.scale.text(version.scale.units(score.score))
