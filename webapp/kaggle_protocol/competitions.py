"""Kaggle protocol: competition list, details and texts."""

from typing import Any

from flask import g
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Split
from grader.services.leaderboards.ranks import Standings
from grader.services.site.paging import page_of_list
from grader.services.teams import participations, rosters
from webapp.competitions.competition_view import CompetitionView
from webapp.http import lookups
from webapp.http.context import competition_of
from webapp.kaggle_protocol.protocol import Fields, next_token, page_address, read, time_text

PAGE_SIZE = 20
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
def list_competitions(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return a page of the competitions visible to the user, newest first."""
    text, is_own = sent.search.strip().casefold(), sent.group.upper().endswith("ENTERED")
    joined = participations.competition_ids(session, user=g.user) if is_own else ()
    matches = [
        each
        for each in lookups.listed(session)
        if (text in each.slug or text in each.title.casefold()) and (each.id in joined or not is_own)
    ]
    part = page_of_list(matches, page=sent.page_number, page_size=sent.size(PAGE_SIZE))
    listed = [_line(session, competition) for competition in part.rows]
    return {"competitions": listed, "nextPageToken": next_token(part.page, part.page_count)}


@read("GetCompetition")
def get_competition(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return a competition."""
    return _line(session, competition_of(session, sent.competition_name))


@read("ListCompetitionPages")
def list_competition_pages(session: Any, sent: Fields) -> ResponseReturnValue:
    """Return a competition's texts in Markdown; the evaluation includes the score's name."""
    competition = competition_of(session, sent.competition_name)
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
            if texts[name] and sent.page_name in ("", name)
        ]
    }


def _line(session: Any, competition: Competition) -> dict[str, Any]:
    version = competition.live_scoring_version
    rank, team_count = 0, 0
    about = CompetitionView(competition, db.now(session)).metric.about
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
        "evaluationMetric": about.title,
        "isKernelsSubmissionsOnly": False,
        "tags": [],
        "description": "",
        "organizationName": "",
        "organizationRef": "",
    }


def _score(view: CompetitionView) -> str:
    """Return the name of the score, and a link to its definition."""
    about, url = view.metric.about, page_address("competitions.evaluation", slug=view.slug)
    return f"The score is {about.title}: {about.sentence.removesuffix('.')}. Definition and columns: {url}"
