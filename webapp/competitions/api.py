"""Competition API: list, details, texts, latest rescoring."""

from typing import Annotated, Any, Literal

from flask import Blueprint, g
from pydantic import Field

from fairboard.interface import Direction
from grader import db
from grader.models import CompetitionState, EntryMode
from grader.services.competitions import announcements, lookup, phases
from grader.services.identity.api_tokens import Scope
from grader.services.site.paging import slice_of_list
from grader.visibility import Anonymity, Feedback, Phase
from webapp.competitions.announcements import AnnouncementLine
from webapp.competitions.competition_view import CompetitionView
from webapp.http import lookups
from webapp.http.api import ending
from webapp.http.context import competition_of, may_read, reading
from webapp.http.fields import Answer, Asked, Moment, PageSize
from webapp.presentation.terms import words_of
from webapp.surface import Access, Ask, Surface

PUBLIC = Surface(Blueprint("competition_api", __name__), tag="competitions", role=Access.PUBLIC)
PERSONAL = Surface(PUBLIC.pages, tag="competitions", role=Access.PUBLIC, scope=Scope.READ, spans=True)
State = Literal["draft", "scheduled", "open", "closed", "revealed", "archived"]


class CompetitionLine(Answer):
    """A competition in a list."""

    slug: str
    title: str
    phase: Phase
    state: State
    opens_at: Moment | None
    closes_at: Moment | None
    rows: int


class CompetitionList(Answer):
    """A page of the list of competitions, newest first."""

    competitions: list[CompetitionLine]
    page_size: PageSize
    next: str | None


class NamedLeaderboard(Answer):
    """A leaderboard that ranks by a value chosen by the organizers instead of the score."""

    key: str
    name: str
    expression: str
    direction: Direction


class StageLine(Answer):
    """A linked competition of the same title."""

    slug: str
    name: str
    state: State


class CompetitionDetails(CompetitionLine):
    """A competition with its rules, limits and scoring."""

    stages: list[StageLine]
    classes: Annotated[dict[str, str], Field(description="The names of the two classes.")]
    paused: str | None
    rules: str | None
    rules_version: int | None
    must_join: bool
    entry_mode: EntryMode
    divisions: Annotated[list[str], Field(description="The names of the divisions of teams.")]
    is_entry_open: bool
    entry_deadline: Moment | None
    merger_deadline: Moment | None
    reveals_at: Moment | None
    anonymity: Anonymity
    max_team_size: int
    max_daily_submissions: int | None
    max_total_submissions: int | None
    selection_count: int
    feedback: Feedback
    feedback_note: str | None
    metric: Annotated[
        dict[str, Any],
        Field(description="The metric's settings and identities, its title, direction, decimals and terms."),
    ]
    boards: list[NamedLeaderboard]


class CompetitionPages(Answer):
    """The texts of a competition's pages, in Markdown."""

    overview: str
    evaluation: str
    data: str
    rules: str
    announcements: list[AnnouncementLine]


@PERSONAL.read("/competitions", CompetitionList)
def competition_list(ask: Ask, query: Asked) -> CompetitionList:
    """List the competitions, newest first."""
    competitions = slice_of_list(lookups.listed(ask.session), key=lambda each: each.id, part=query.part)
    views = [CompetitionView(each, ask.now) for each in competitions.rows]
    return CompetitionList(
        competitions=[CompetitionLine.of(view, rows=view.row_count) for view in views], **ending(competitions)
    )


@PERSONAL.read("/competitions/<slug>", CompetitionDetails)
def competition(ask: Ask) -> CompetitionDetails:
    """Return a competition with its rules, limits and scoring."""
    view = ask.competition_view
    return CompetitionDetails.of(
        view,
        rows=view.row_count,
        stages=stages(view.slug) if view.is_staged else [],
        classes=words_of(view),
        paused=view.pause_message if view.paused_at else None,
        rules=view.rules or None,
        rules_version=view.rules_version if view.rules else None,
        must_join=view.must_ask,
        feedback_note=view.feedback_note or None,
        metric=_metric(view),
    )


@PUBLIC.read("/competitions/<slug>/pages", CompetitionPages)
def competition_pages(ask: Ask) -> CompetitionPages:
    """Return the texts of a competition's pages, in Markdown, and its announcements."""
    posted = announcements.shown(ask.session, competition=ask.competition)
    return CompetitionPages.of(
        ask.competition,
        data=ask.competition.data_description,
        announcements=[AnnouncementLine.model_validate(each) for each in posted],
    )


def stages(slug: str) -> list[StageLine]:
    """Return the published stages of a competition's title in order, or nothing if it has only one."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        competitions = lookup.stages(session, competition=competition)
        lines = [
            StageLine.of(each, name=each.stage_name or f"Stage {number}", state=phases.state(each, now))
            for number, each in enumerate(competitions, 1)
            if each is competition
            or (each.state is not CompetitionState.DRAFT and may_read(session, each, g.organizer_role))
        ]
    return lines if len(lines) > 1 else []


def _metric(view: CompetitionView) -> dict[str, Any]:
    rules, about = view.scoring_rules, view.metric.about
    identities = {"identities": list(rules.identities)} if rules.metric.takes_identities else {}
    return rules.metric.as_dict() | {
        **identities,
        "title": about.title,
        "direction": about.direction,
        "decimals": about.decimals,
        "terms": [term.name for term in about.terms],
    }
