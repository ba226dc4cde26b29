"""Save the metric step of a draft with a solution: another metric is checked before it is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import url_for

from grader.models import Competition, JobState
from grader.services.audit.log import Actor
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.metric import Rules
from grader.services.competitions.settings_model import METRIC, CompetitionSettings
from grader.services.jobs import organizer_jobs
from grader.services.rescoring import versions
from grader.services.solutions import checks, identity_choice
from webapp.organizers.setup import identity_ticks


@dataclass(frozen=True, slots=True)
class Told:
    """What came of saving, in words, and the page that shows it; `goes_on` to the next step."""

    words: str
    url: str
    goes_on: bool = False


def save(
    session: Any,
    competition: Competition,
    before: CompetitionSettings,
    changes: Mapping[str, Any],
    *,
    actor: Actor,
    now: datetime,
) -> tuple[frozenset[str], Told | None]:
    """Save the step; return the changed settings, and what came of another metric.

    The solution in use and its metric stay until the check of the other one is accepted. Saving the same
    choice again accepts it.
    """
    after = before.changed(**changes)
    is_other = after.metric_choice != before.metric_choice
    everything: dict[str, Any] = {"session": session, "competition": competition, "actor": actor, "now": now}
    if competition.live_scoring_version is None:
        changed = competition_settings.change(**everything, changes=changes)
        job = identity_choice.check(**everything, choice=after.metric_choice) if is_other else None
        if job is None:
            return changed, None
        url = url_for("organize_solution.show", slug=competition.slug, job_id=job.id)
        return changed, Told("Saved. The solution is being checked with your choice.", url)
    rest = {name: value for name, value in changes.items() if name not in METRIC}
    changed = competition_settings.change(**everything, changes=rest)
    pending = identity_ticks.pending_check(session, competition)
    if not is_other:
        if pending is not None:
            organizer_jobs.dismiss(session, job=pending, now=now)
        return changed, None
    url = url_for("organize_settings.show", slug=competition.slug, step="metric")
    rules = Rules(identities=after.identities or (), metric=after.metric)
    if pending is not None and checks.asked_settings(pending).rules == rules:
        if pending.state is JobState.DONE:
            versions.accept_settings(**everything, job_id=pending.id)
            return changed, Told("Saved. Your choice is in use now.", url, goes_on=True)
        if organizer_jobs.is_open(pending):
            return changed, Told("Your choice is still being checked.", url)
    identity_choice.check(**everything, choice=after.metric_choice)
    return changed, Told("Your choice is being checked with the solution.", url)
