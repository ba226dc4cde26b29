"""Public team profile (page and API), certificate (SVG) and share image (PNG)."""

import io
import re
import unicodedata
from datetime import datetime
from functools import lru_cache
from itertools import compress, groupby
from pathlib import Path
from typing import Any

from flask import Response, g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.charts.steps import StepChart, Steps, step_chart
from grader.models import Competition, Team
from grader.ranking.order import Scale, term_text
from grader.services.competitions import lookup, phases
from grader.services.competitions.metric import of_version
from grader.services.leaderboards import team_results
from grader.services.leaderboards.leaderboard import BoardNotRevealed
from grader.services.leaderboards.lines import ShownRow, term_decimals
from grader.services.leaderboards.score_history import UnrankedTeam
from grader.services.leaderboards.team_results import Profile
from grader.services.standings import shown_scores
from grader.services.submissions import comparison
from grader.services.teams import rosters
from grader.text import counted, listed
from grader.visibility import Phase
from webapp.competitions.views import CompetitionView
from webapp.http import api, lookups
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Moment, Score
from webapp.http.responses import conditional
from webapp.http.site import site_link
from webapp.presentation import formats
from webapp.presentation.terms import terms_of
from webapp.teams.pages import blueprint

TAG = "teams"
LINES = ((44, 80), (180, 150), (44, 370), (64, 440), (34, 540))  # sizes and tops of the image's lines
# The light colors of competitions in tokens.css, in the same order.
COLORS = ("#0b6375", "#2f56b0", "#6a3fb5", "#8c2f7b", "#ab2450", "#9c3d1a", "#755400", "#2b6b33")
IMAGE_SIZE, MARGIN, SMALLEST = (1200, 630), 80, 24
FACES = tuple(
    Path(__file__).parents[1] / "static/fonts" / f"{name}.woff2" for name in ("inter", "inter-extended")
)
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SVG_POLICY = "default-src 'none'; sandbox"


@blueprint.get("/teams/<int:team_id>")
def profile(slug: str, team_id: int) -> ResponseReturnValue:
    """Show a team that is on the leaderboard."""
    with reading() as session:
        competition, now, found, own = _profile(session, slug, team_id)
        own_id = comparison.own_counted(
            session, competition=competition, team=own, phase=phases.phase(competition, now)
        )
        scale, version = shown_scores.scale(competition), lookup.live(competition)
        about, decimals = of_version(version).describe(), term_decimals(version)
        award = Award(competition, found) if found.private else None
    is_own = own is not None and own.id == team_id
    return conditional(
        render_template(
            "teams/profile.html",
            competition=CompetitionView(competition, now),
            team=found,
            award=award,
            is_own=is_own,
            own_counted_id=own_id,
            terms=[
                (term.name, term_text(found.public.terms[term.key], decimals))
                for term in terms_of(about)
                if found.public and term.key in found.public.terms
            ],
            chart=_chart(competition, found, now, scale, is_own=is_own),
            history=[(step.submitted_at, scale.text(step.score_units)) for step in reversed(found.steps)],
        )
    )


def _profile(session: Any, slug: str, team_id: int) -> tuple[Competition, datetime, Profile, Team | None]:
    """Return a competition, the time, the profile of a team, and the user's own team."""
    competition, now = competition_of(session, slug), db.now(session)
    own = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
    found = team_results.get_profile(
        session,
        competition=competition,
        team_id=team_id,
        viewer=lookups.viewer(),
        now=now,
        own_team_id=own.id if own else None,
    )
    return competition, now, found, own


def _chart(
    competition: Competition,
    found: Profile,
    now: datetime,
    scale: Scale,
    *,
    is_own: bool,
) -> StepChart | None:
    """Return the chart of the best score over time, or None if it never changed."""
    if len(found.steps) < 2 or found.public is None or found.public.rank is None:
        return None
    until = min(now, competition.closes_at) if competition.closes_at else now
    team = Steps(found.public.rank, found.name, is_own, found.steps)
    return step_chart([team], until=until, scale=scale)


class Award:
    """A team's rank on the live private leaderboard; the page `link` shows the same rank."""

    def __init__(self, competition: Competition, found: Profile) -> None:
        if found.private is None or found.private.rank is None:
            raise UnrankedTeam(team_id=found.team_id)
        at = competition.revealed_at
        names = [member.name for member in found.members]
        self.competition, self.team, self.score = competition.title, found.name, found.private.score
        self.members = "" if names == [found.name] else listed(names)
        self.place = formats.ordinal(found.private.rank)
        self.count = f"of {counted(found.team_count, 'team')}"
        self.date = formats.moment(at) if at else ""
        self.link = site_link("leaderboards.private", slug=competition.slug)
        self.summary = f"{self.place} {self.count}: {self.team}, {self.competition}"
        number = formats.color_class(competition.slug, competition.color).removeprefix("color-")
        self.color = COLORS[int(number) - 1]

    def code(self) -> str:
        """Return the QR code of the link as SVG."""
        import segno  # A top-level import would slow down the start of every web process.

        return segno.make(self.link, micro=False).svg_inline(svgclass=None, lineclass=None, omitsize=True)


@lru_cache(maxsize=64)  # An image takes 0.1 s and 50 kB.
def _image(texts: tuple[str, ...], color: str) -> bytes:
    """Return the share image; a text with characters that the font lacks is omitted."""
    from PIL import Image, ImageDraw, ImageFont  # As above, a top-level import would be slow.

    image = Image.new("RGB", IMAGE_SIZE, color)
    draw, small = ImageDraw.Draw(image), [ImageFont.truetype(face, SMALLEST) for face in FACES]

    def face(char: str) -> Path | str:
        known = (bytes(each.getmask(char)) != bytes(each.getmask("\uffff")) for each in small)
        return next(compress(FACES, known), "")

    for text, (size, top) in zip(texts, LINES, strict=True):
        runs = [(path, "".join(part)) for path, part in groupby(text, face)]
        if all(path for path, _ in runs):
            lengths = [ImageFont.truetype(path, size).getlength(part) for path, part in runs]
            shrink = min(1, (IMAGE_SIZE[0] - 2 * MARGIN) / max(sum(lengths), 1))
            for number, (path, part) in enumerate(runs):
                at = MARGIN + shrink * sum(lengths[:number]), top
                draw.text(at, part, font=ImageFont.truetype(path, max(size * shrink, 8)))
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def fitted(text: str, size: float, width: int) -> tuple[float, int | None]:
    """Return a font size for a text, and the width to which a long text is compressed."""
    ems = (
        1 if unicodedata.east_asian_width(char) in "WF" else 0.8 if char.isupper() else 0.6 for char in text
    )
    needed = size * sum(ems)
    return (size, None) if needed <= width else (round(max(size * width / needed, 8), 1), width)


def _award(slug: str, team_id: int) -> Award:
    """Return the award of a team; raise BoardNotRevealed or UnrankedTeam."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        if phases.phase(competition, now) is not Phase.REVEALED:
            raise BoardNotRevealed
        _, _, found, _ = _profile(session, slug, team_id)
        return Award(competition, found)


@blueprint.get("/teams/<int:team_id>/certificate.svg")
def certificate(slug: str, team_id: int) -> ResponseReturnValue:
    """Return the certificate of a team, after the reveal."""
    page = render_template("teams/certificate.svg", award=_award(slug, team_id), fitted=fitted)
    response = Response(NOT_XML.sub("", page), mimetype="image/svg+xml")
    response.headers["Content-Security-Policy"] = SVG_POLICY
    response.headers.set("Content-Disposition", "inline", filename=f"{slug}-certificate-{team_id}.svg")
    return conditional(response)


@blueprint.get("/teams/<int:team_id>/share.png")
def share_image(slug: str, team_id: int) -> ResponseReturnValue:
    """Return the picture that other sites show with a link to the team, after the reveal."""
    award = _award(slug, team_id)
    texts = (award.competition, award.place, award.count, award.team, f"Score {award.score}")
    return conditional(Response(_image(texts, award.color), mimetype="image/png"))


class ProfileMember(Answer):
    """A member of a team; `page` is null without a public profile."""

    name: str
    joined_at: Moment
    page: str | None


class ProfileLine(Answer):
    """A team's row on a leaderboard."""

    rank: int | None
    rank_change: int | None
    score: Score
    terms: dict[str, float] | None
    entries: int
    last_submitted_at: Moment


class BestScore(Answer):
    """A new best public score of the team."""

    submitted_at: Moment
    score: Score


class TeamProfile(Answer):
    """A team that is on a leaderboard; `private` is null before the reveal."""

    id: int
    name: str
    alias: str | None
    since: Moment
    members: list[ProfileMember]
    team_count: int
    public: ProfileLine | None
    private: ProfileLine | None
    history: list[BestScore]


@api.blueprint.get("/competitions/<slug>/teams/<int:team_id>")
@api.operation(None, answers=TeamProfile, tag=TAG)
def team_profile(slug: str, team_id: int) -> TeamProfile:
    """Return the profile of a team on a leaderboard: members, ranks, best scores over time."""
    with reading() as session:
        competition, _, found, _ = _profile(session, slug, team_id)
        scale = competition.scale
    return TeamProfile(
        id=found.team_id,
        name=found.name,
        alias=found.alias or None,
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
            BestScore(submitted_at=step.submitted_at, score=float(scale.text(step.score_units)))
            for step in found.steps
        ],
    )


def _line(row: ShownRow | None) -> ProfileLine | None:
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
