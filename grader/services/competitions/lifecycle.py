"""Publication, archiving and unarchiving of competitions; suggestions before publication.

The phases scheduled, open and closed depend only on the time. For the reveal, see `closing`.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal, SeveralProblems
from grader.models import Competition, CompetitionState
from grader.services.competitions import boards
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.competitions.phases import Archived
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import Fault, problems, sentences
from grader.services.solutions import data_files as files

SOLUTION = "solution"


class NotReady(SeveralProblems, OrganizerError):
    """The draft cannot be published because something is missing or invalid."""

    public_name = "not_ready"

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._faults = tuple(faults)
        super().__init__(sentences(self._faults))

    @property
    def details(self) -> Mapping[str, Any]:
        """All problems with their fields."""
        return {"problems": [each.as_problem() for each in self._faults]}


def missing(competition: Competition, *, now: datetime) -> list[Fault]:
    """Return the problems with the settings and the `SOLUTION` that prevent a draft's publication."""
    faults = []
    if competition.live_scoring_version is None:
        faults.append(
            Fault(
                "No solution has been accepted. Upload one and accept the result of its check.", (SOLUTION,)
            )
        )
    else:
        lacking = boards.faults(competition.boards, Rules.of(competition.live_scoring_version))
        faults += [Fault(sentence, ("boards",)) for sentence in lacking]
    return faults + unpublishable(competition_settings.of(competition), now=now)


def unpublishable(settings: CompetitionSettings, *, now: datetime) -> list[Fault]:
    """Return the problems with the settings that prevent a draft's publication."""
    faults = []
    closes_at = settings.closes_at
    if closes_at is not None and closes_at <= now:
        faults.append(
            Fault(
                f"The close, {closes_at:%Y-%m-%d %H:%M} UTC, is in the past. Choose a future date.",
                ("closes_at",),
            )
        )
    as_published = settings.changed(opens_at=settings.opens_at or now)
    return faults + problems(as_published, is_draft=False)


def publish(act: Act) -> Competition:
    """Publish a draft, which opens at its opening time or, if it has none, immediately.

    Missing dates are derived from the close. Raise OrganizerRefusal or NotReady.
    """
    competition, now = act.competition, act.now
    if competition.state is not CompetitionState.DRAFT:
        message = f"{competition.slug} is already published."
        raise OrganizerRefusal("already_published", ErrorKind.CONFLICT, message)
    lacking = [*missing(competition, now=now), *files.faults(act.session, competition=competition)]
    if lacking:
        raise NotReady(lacking)
    competition.opens_at = competition.opens_at or now
    competition_settings.fill_in_dates(competition)
    _change(act, CompetitionState.PUBLISHED, "competition.publish", "The competition was published.")
    return competition


def archive(act: Act, *, reason: str = "") -> Competition:
    """Archive a competition, which stays visible but is closed to submissions.

    Raise OrganizerRefusal or Archived.
    """
    if act.competition.state is CompetitionState.DRAFT:
        message = "A draft cannot be archived. Publish it first or delete it."
        raise OrganizerRefusal("not_archivable", ErrorKind.CONFLICT, message)
    if act.competition.state is CompetitionState.ARCHIVED:
        raise Archived
    sentence = "The competition was archived."
    _change(act, CompetitionState.ARCHIVED, "competition.archive", sentence, reason=reason)
    return act.competition


def unarchive(act: Act, *, reason: str = "") -> Competition:
    """Return an archived competition to its previous state; raise OrganizerRefusal."""
    if act.competition.state is not CompetitionState.ARCHIVED:
        message = f"{act.competition.slug} is not archived."
        raise OrganizerRefusal("not_archived", ErrorKind.CONFLICT, message)
    state = CompetitionState.REVEALED if act.competition.revealed_at else CompetitionState.PUBLISHED
    sentence = "The competition was unarchived."
    _change(act, state, "competition.unarchive", sentence, reason=reason)
    return act.competition


def _change(act: Act, state: CompetitionState, action: str, public_text: str, *, reason: str = "") -> None:
    before, act.competition.state = act.competition.state, state
    act.record(
        action,
        f"competition {act.competition.slug}",
        before={"state": before},
        after={"state": state},
        reason=reason,
        public_text=public_text,
    )


def settings_suggestions(settings: CompetitionSettings) -> Iterator[Fault]:
    """Yield suggestions about settings, each with the names of the settings."""
    if not settings.overview:
        yield Fault("The overview is empty, so participants see a default text.", ("overview",))
    if settings.closes_at is None:
        words = "There is no closing date, so entry, mergers and the reveal have no dates either."
        yield Fault(words, ("closes_at",))
    if not settings.rules:
        yield Fault("There are no rules, so participants join with their first submission.", ("rules",))


def data_suggestions(session: Session, *, competition: Competition, lacks_baseline: bool) -> Iterator[Fault]:
    """Yield suggestions about data files and the baseline."""
    if not files.list_all(session, competition=competition):
        yield Fault("There are no data files to download.", (files.DATA,))
    if lacks_baseline:
        yield Fault("The only baseline is the sample submission.", (files.DATA,))
