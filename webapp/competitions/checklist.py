"""State of each section of the setup page: missing items and suggestions, with links to their fields."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from flask import url_for

from grader.models import Competition, CompetitionState
from grader.services.competitions import lifecycle, settings_warnings
from grader.services.competitions.settings_model import DATA, SECTIONS, SettingsSection
from grader.services.competitions.settings_problems import Fault
from grader.services.solutions import data_files as files
from grader.services.submissions import benchmark_entries
from webapp.competitions.settings_form import METRIC


class Lack(NamedTuple):
    """A missing item or a suggestion, as a sentence, with the URL of its field."""

    sentence: str
    url: str


class SectionState(NamedTuple):
    """A section with its mark; those of a published competition have no mark."""

    section: SettingsSection
    url: str
    is_marked: bool
    missing: tuple[Lack, ...]
    advice: tuple[Lack, ...]

    @property
    def state(self) -> str:
        """The mark: `missing`, `advice`, `done` or empty."""
        if not self.is_marked:
            return ""
        return "missing" if self.missing else "advice" if self.advice else "done"


def missing(session: Any, competition: Competition, now: datetime) -> list[Fault]:
    """Return the problems that prevent a draft's publication."""
    if competition.state is not CompetitionState.DRAFT:
        return []
    return lifecycle.missing(session, competition=competition, now=now)


def suggestions(session: Any, competition: Competition) -> list[Fault]:
    """Return the suggestions for a competition."""
    is_draft = competition.state is CompetitionState.DRAFT
    lacks_baseline = is_draft and not benchmark_entries.list_all(session, competition=competition)
    return lifecycle.suggestions(session, competition=competition, lacks_baseline=lacks_baseline)


def sections(session: Any, competition: Competition, now: datetime) -> list[SectionState]:
    """Return the sections with their marks."""
    is_draft = competition.state is CompetitionState.DRAFT
    advice = suggestions(session, competition)
    if is_draft:
        past = settings_warnings.date_warnings(competition, now)
        advice += [fault for fault in past if "closes_at" not in fault.names]
    found = missing(session, competition, now)
    page = url_for("organize_settings.show", slug=competition.slug)
    return [
        SectionState(
            section,
            f"{page}#{section.key}",
            is_draft and bool(section.names),
            tuple(_lacks(section, found, competition.slug, page)),
            tuple(_lacks(section, advice, competition.slug, page)),
        )
        for section in SECTIONS
    ]


def _lacks(section: SettingsSection, faults: Iterable[Fault], slug: str, page: str) -> Iterator[Lack]:
    others = {files.DATA: "organize_data.index", lifecycle.SOLUTION: "organize_solution.index"}
    for sentence, names, *_ in faults:
        if endpoint := others.get(names[0]):
            if section is DATA:
                yield Lack(sentence, url_for(endpoint, slug=slug))
        elif name := next(
            (n for n in (METRIC if n == "metric" else n for n in names) if n in section.names), ""
        ):
            yield Lack(sentence, f"{page}#{name}")
