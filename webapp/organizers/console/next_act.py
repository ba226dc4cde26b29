"""Next act of an organizer on the console: what the state of the competition asks for, as one button."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import url_for

from grader.models import Competition, CompetitionState, OrganizerJobKind
from grader.services.closing import checklist
from grader.services.competitions import phases
from grader.services.competitions.phases import Stage
from grader.services.data_files import release
from grader.services.jobs import organizer_jobs
from grader.services.setup import lifecycle
from grader.visibility import Phase
from webapp.organizers.closing.views import CloseView
from webapp.organizers.console.activity_view import Task
from webapp.presentation import formats


@dataclass(frozen=True, slots=True)
class NextAct:
    """Where the competition is, in a sentence, and the act that comes next; without `url` there is none.

    `missing` is what keeps a draft from being published.
    """

    sentence: str
    words: str = ""
    url: str = ""
    missing: tuple[str, ...] = ()


def of(session: Any, competition: Competition, tasks: Sequence[Task], *, now: datetime) -> NextAct:
    """Return the next act: the setup of a draft, what needs an answer while it runs, then the close."""
    if competition.state is CompetitionState.DRAFT:
        return _of_draft(session, competition, now)
    if competition.state is CompetitionState.ARCHIVED:
        return NextAct("The competition is archived: readable, and closed to files.")
    stage = phases.stage(competition, now)
    if stage is Stage.RUNNING:
        return _of_running(competition, tasks, now)
    return _of_close(session, competition, stage, tasks, now)


def _of_draft(session: Any, competition: Competition, now: datetime) -> NextAct:
    faults = [*lifecycle.missing(competition, now=now), *release.faults(session, competition=competition)]
    review = url_for("organize_publishing.show", slug=competition.slug)
    if not faults:
        return NextAct("A draft. Nothing is missing.", "Review and publish", review)
    count = formats.counted(len(faults), "thing is missing", "things are missing")
    return NextAct(
        f"A draft that only organizers see. {count}.",
        "Go on with the setup",
        review,
        tuple(each.sentence for each in faults),
    )


def _of_running(competition: Competition, tasks: Sequence[Task], now: datetime) -> NextAct:
    if tasks:
        return NextAct(f"{tasks[0].words}.", tasks[0].act, tasks[0].url)
    if phases.phase(competition, now) is Phase.SCHEDULED:
        return NextAct("Published, and not open yet. Nothing needs an answer.")
    return NextAct("Open. Nothing needs an answer.")


def _of_close(
    session: Any, competition: Competition, stage: Stage, tasks: Sequence[Task], now: datetime
) -> NextAct:
    here = url_for("organize_close.index", slug=competition.slug)
    if stage is Stage.FINAL and tasks:  # another scoring version would make the bundle an old one
        return NextAct(f"The standings are final. {tasks[0].words}.", tasks[0].act, tasks[0].url)
    if stage is Stage.FINAL:
        packed = organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.BUNDLE)
        words = "Download results bundle" if packed else "Create results bundle"
        return NextAct("The standings are final.", words, f"{here}#results")
    state = checklist.state(session, competition=competition, now=now)
    sentence = CloseView(state).explanation
    match stage:
        case Stage.CLOSED:
            return NextAct(sentence, "See what is missing", here)
        case Stage.SETTLED if not state.agrees:
            return NextAct(sentence, "Verify", f"{here}#verify")
        case Stage.SETTLED:
            return NextAct("Verified: every value agrees. Everything is ready.", "Reveal", f"{here}#reveal")
        case _:
            return NextAct(sentence, "Make final", f"{here}#finalize")
