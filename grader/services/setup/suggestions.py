"""Suggestions before publishing: what a competition can do without and seldom should."""

from collections.abc import Iterator

from sqlalchemy.orm import Session

from grader.models import Competition
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import Fault
from grader.services.data_files import files, release


def of_settings(settings: CompetitionSettings) -> Iterator[Fault]:
    """Return the suggestions on settings, each with the names of the settings it is about."""
    if not settings.overview:
        yield Fault("The overview is empty, so people see a default text.", ("overview",))
    if not settings.contact:
        yield Fault("There is no contact for questions.", ("contact",))
    if settings.closes_at is None:
        words = "It has no closing date, so entry, mergers and the reveal have no dates either."
        yield Fault(words, ("closes_at",))
    if not settings.rules:
        yield Fault("There are no rules: people join with their first submission.", ("rules",))


def of_data(session: Session, *, competition: Competition, lacks_baseline: bool) -> Iterator[Fault]:
    """Return the suggestions on what participants can download and compare with."""
    if not files.list_all(session, competition=competition):
        yield Fault("There are no data files to download.", (release.DATA,))
    if lacks_baseline:
        yield Fault("There is no baseline besides the sample submission.", (release.DATA,))
