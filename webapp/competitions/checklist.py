"""Sections of the setup page: missing items and suggestions of a draft, and whether each was saved."""

from collections.abc import Iterable, Iterator
from typing import Annotated, NamedTuple

from flask import url_for
from pydantic import Field

from grader.models import CompetitionState
from grader.services.competitions import drafts, lifecycle
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import DATA, SECTIONS, SettingsSection
from grader.services.solutions import data_files as files
from grader.services.submissions import benchmark_entries
from webapp.competitions.settings_form import METRIC
from webapp.http.fields import Answer
from webapp.http.organizer_operations import FaultAnswer
from webapp.surface import Ask


class Publication(Answer):
    """The state of a competition, the items that a draft lacks for publication, and suggestions."""

    state: CompetitionState
    missing: list[FaultAnswer]
    suggestions: list[FaultAnswer]
    submission_count: int
    saved_sections: Annotated[
        list[str], Field(description="The sections of the setup page that were saved: text, data, dates.")
    ]


def publication(ask: Ask | Act) -> Publication:
    """Return the state of a competition, and the items that a draft lacks for publication."""
    session, competition, now = ask.session, ask.competition, ask.now
    is_draft = competition.state is CompetitionState.DRAFT
    lacks_baseline = is_draft and not benchmark_entries.list_all(session, competition=competition)
    missing = lifecycle.missing(session, competition=competition, now=now) if is_draft else []
    suggestions = lifecycle.suggestions(
        session, competition=competition, lacks_baseline=lacks_baseline, now=now
    )
    return Publication(
        state=competition.state,
        missing=[FaultAnswer(**each.as_problem()) for each in missing],
        suggestions=[FaultAnswer(**each.as_problem()) for each in suggestions],
        submission_count=drafts.count_submissions(session, competition=competition),
        saved_sections=competition.saved_sections.split(),
    )


class SectionState(NamedTuple):
    """A section with its mark: `missing`, `open` if it was never saved, `advice`, `done` or empty.

    Missing items and advice are sentences with the URLs of their fields.
    """

    section: SettingsSection
    url: str
    state: str
    missing: list[tuple[str, str]]
    advice: list[tuple[str, str]]


def sections(ask: Ask) -> list[SectionState]:
    """Return the sections with their marks; those of a published competition have none."""
    readiness, slug, states = publication(ask), ask.competition.slug, []
    for section in SECTIONS:
        missing = list(_lacks(section, readiness.missing, slug))
        advice = list(_lacks(section, readiness.suggestions, slug))
        is_saved = section.key in readiness.saved_sections
        state = "missing" if missing else "open" if not is_saved else "advice" if advice else "done"
        is_marked = readiness.state is CompetitionState.DRAFT and section.names
        url = url_for("organize_settings.show", slug=slug, _anchor=section.key)
        states.append(SectionState(section, url, state if is_marked else "", missing, advice))
    return states


def _lacks(section: SettingsSection, faults: Iterable[FaultAnswer], slug: str) -> Iterator[tuple[str, str]]:
    others = {files.DATA: "organize_data.index", lifecycle.SOLUTION: "organize_solution.index"}
    for fault in faults:
        if endpoint := others.get(fault.fields[0]):
            if section is DATA:
                yield fault.message, url_for(endpoint, slug=slug)
            continue
        names = (METRIC if name == "metric" else name for name in fault.fields)
        if name := next((each for each in names if each in section.names), ""):
            yield fault.message, url_for("organize_settings.show", slug=slug, _anchor=name)
