"""Kaggle protocol: competition list, details and texts."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from flask import g
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Split
from grader.services.competitions import organizers
from grader.services.leaderboards.ranks import Standings
from grader.services.site.paging import page_of_list
from grader.services.teams import participations, rosters
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.context import competition_of
from webapp.kaggle_protocol.protocol import (
    SentFields,
    asked_paging,
    next_token,
    page_address,
    read,
    time_text,
)

PAGE_SIZE = 20
TAB, SEGMENT, SORT = "COMPETITION_LIST_TAB_", "HOST_SEGMENT_", "COMPETITION_SORT_BY_"
NEVER = datetime.max.replace(tzinfo=UTC)
# A competition's texts and their titles, by Kaggle's page names.
PAGES = {
    "description": ("overview", "Description"),
    "evaluation": ("evaluation", "Evaluation"),
    "rules": ("rules", "Rules"),
    "data-description": ("data_description", "Data Description"),
}


@read(
    "ListCompetitions",
    old=["GET /competitions/list"],
    as_before=lambda answer: answer["competitions"],
)
def list_competitions(session: Any, sent: SentFields) -> ResponseReturnValue:
    """Return a page of the competitions visible to the user, in the Community category."""
    page, size = asked_paging(sent, usual_size=PAGE_SIZE, most=100)
    competitions = _searched(session, sent)
    _sort(competitions, sent.text("sortBy").removeprefix(SORT))
    part = page_of_list(competitions, page=page, page_size=size)
    listed = [_line(session, competition) for competition in part.rows]
    return {"competitions": listed, "nextPageToken": next_token(part.page, part.page_count)}


@read("GetCompetition")
def get_competition(session: Any, sent: SentFields) -> ResponseReturnValue:
    """Return a competition."""
    return _line(session, competition_of(session, sent.text("competitionName")))


@read("ListCompetitionPages")
def list_competition_pages(session: Any, sent: SentFields) -> ResponseReturnValue:
    """Return a competition's texts in Markdown; the evaluation includes the score's formula."""
    wanted = sent.text("pageName")
    competition = competition_of(session, sent.text("competitionName"))
    view = CompetitionView(competition, db.now(session))
    texts = {name: getattr(competition, setting) for name, (setting, _) in PAGES.items()}
    texts["evaluation"] = "\n\n".join(filter(None, (texts["evaluation"], _score(view))))
    return {
        "pages": [
            {
                "name": name,
                "content": texts[name],
                "isPublished": True,
                "mimeType": "text/markdown",
                "postTitle": title,
            }
            for name, (_, title) in PAGES.items()
            if texts[name] and wanted in ("", name)
        ]
    }


def _searched(session: Any, sent: SentFields) -> list[Competition]:
    """Return the visible competitions in a tab of Kaggle's competition list that contain a text."""
    tab, category = sent.text("group").removeprefix(TAB), sent.text("category").removeprefix(SEGMENT)
    if category.lower() not in ("", "unspecified", "community", "all"):
        return []
    roles = organizers.roles(session, user=g.user)
    is_in: Callable[[Competition], bool] = {
        "ENTERED": lambda each: participations.find(session, competition=each, user=g.user) is not None,
        "HOSTED": lambda each: each.id in roles,
    }.get(tab.upper(), bool)
    text = sent.text("search").strip().casefold()
    return [
        each
        for each in lookups.listed(session)
        if is_in(each) and (text in each.slug or text in each.title.casefold())
    ]


def _sort(competitions: list[Competition], by: str) -> None:
    """Sort by the close if requested; otherwise, keep the order (newest first)."""
    if by.upper() in ("EARLIEST_DEADLINE", "LATEST_DEADLINE", "EARLIESTDEADLINE", "LATESTDEADLINE"):
        competitions.sort(key=lambda each: each.closes_at or NEVER, reverse=by.upper().startswith("LATEST"))


def _line(session: Any, competition: Competition) -> dict[str, Any]:
    version = competition.live_scoring_version
    rank, team_count = 0, 0
    about = CompetitionView(competition, db.now(session)).metric().about
    if version is not None:
        standings = Standings(session, version.id, Split.PUBLIC)
        team_count = standings.count_teams()
        team = rosters.find_team(session, competition=competition, user=g.user)
        if team is not None and (ranked := standings.ranked_entry_of(team.id)):
            rank = ranked[1]
    return {
        "id": competition.id,
        "ref": competition.slug,
        "title": competition.full_title,
        "url": page_address("competitions.show", slug=competition.slug),
        "deadline": time_text(competition.closes_at),
        "category": "Community",
        "reward": "Kudos",
        "teamCount": team_count,
        "userHasEntered": participations.find(session, competition=competition, user=g.user) is not None,
        "userRank": rank,
        "mergerDeadline": time_text(competition.merger_deadline),
        "newEntrantDeadline": time_text(competition.entry_deadline),
        "enabledDate": time_text(competition.opens_at),
        "maxTeamSize": competition.max_team_size,
        "maxDailySubmissions": competition.max_daily_submissions or 0,
        "submissionsDisabled": competition.paused_at is not None,
        "evaluationMetric": about.title if about else "Generalized mean of bias AUCs",
        "isKernelsSubmissionsOnly": False,
        "tags": [],
        "description": "",
        "organizationName": "",
        "organizationRef": "",
    }


def _score(view: CompetitionView) -> str:
    """Return the definition of the score, a link to its details, and the columns of a submission."""
    metric = view.metric()
    about = metric.about
    columns = "\n".join(f"- {name}: {domain}" for name, domain in metric.columns)
    parts = [
        f"The score is {about.title}: {about.sentence.removesuffix('.')}. The {about.direction} score is the "
        "best."
    ]
    if about.is_weighted_sum:
        terms = "\n".join(f"- {term.weight:g} times {term.short_title}" for term in metric.terms)
        parts.append(f"It is the sum of:\n\n{terms}")
    parts.append(f"Details: {page_address('competitions.evaluation', slug=view.slug)}")
    return "\n\n".join([*parts, f"Columns of a submission, besides id:\n\n{columns}"])
