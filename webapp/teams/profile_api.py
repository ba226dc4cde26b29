"""API: a team as everybody who sees the leaderboard sees it."""

from grader import db
from grader.ranking.order import score_text
from grader.services.leaderboards import team_results
from grader.services.leaderboards.lines import BoardRow
from webapp.http import lookups
from webapp.http.api import blueprint, operation
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Moment, Score
from webapp.http.site import site_link

TAG = "teams"


class ProfileMember(Answer):
    """A member of a team; `page` is null for who has no page."""

    name: str
    joined_at: Moment
    page: str | None


class ProfileLine(Answer):
    """A team's line on a leaderboard."""

    rank: int | None
    rank_change: int | None
    score: Score
    terms: dict[str, float] | None
    entries: int
    last_submitted_at: Moment


class BestScore(Answer):
    """A file that was the team's best on the public rows when it came."""

    submitted_at: Moment
    score: Score


class TeamProfile(Answer):
    """A team that is on a leaderboard; `private` is null before the reveal."""

    id: int
    name: str
    since: Moment
    members: list[ProfileMember]
    team_count: int
    public: ProfileLine | None
    private: ProfileLine | None
    history: list[BestScore]


@blueprint.get("/competitions/<slug>/teams/<int:team_id>")
@operation(None, answers=TeamProfile, tag=TAG)
def team_profile(slug: str, team_id: int) -> TeamProfile:
    """Return a team that is on a leaderboard: members, places, best scores over time."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        found = team_results.get_profile(
            session, competition=competition, team_id=team_id, viewer=lookups.viewer(), now=now
        )
    return TeamProfile(
        id=found.team_id,
        name=found.name,
        since=found.since,
        members=[
            ProfileMember(
                name=each.name,
                joined_at=each.joined_at,
                page=each.page_key and site_link("people.profile", key=each.page_key),
            )
            for each in found.members
        ],
        team_count=found.team_count,
        public=_line(found.public),
        private=_line(found.private),
        history=[
            BestScore(submitted_at=step.submitted_at, score=float(score_text(step.score_units)))
            for step in found.steps
        ],
    )


def _line(row: BoardRow | None) -> ProfileLine | None:
    if row is None:
        return None
    return ProfileLine(
        rank=row.rank,
        rank_change=row.rank_change,
        score=float(row.score),
        terms=dict(row.terms) or None,
        entries=row.entry_count,
        last_submitted_at=row.last_submitted_at,
    )
