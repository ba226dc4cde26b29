"""Leaderboards for other sites and tools: embedded rows, and final standings as CSV and Croissant."""

from dataclasses import replace

from flask import Response, abort, jsonify, render_template, request

from grader import db
from grader.services.competitions import phases
from grader.services.exports import croissant
from grader.services.leaderboards import leaderboard
from grader.services.paging import PAGE_SIZE
from grader.services.standings import final_standings
from grader.text import csv_lines
from grader.visibility import Viewer
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.context import competition_of, reading
from webapp.http.parameters import Unreadable, asked_number
from webapp.http.responses import conditional, shared
from webapp.http.site import site_link
from webapp.leaderboards import requests
from webapp.leaderboards.pages import WHOLE, blueprint

USUAL_ROWS = 10
FRAMED = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors *",
    "X-Frame-Options": "",
    # Pages that are isolated from other origins frame only documents with both of these headers.
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@blueprint.get("/leaderboard/embed.<any(html, json):form>")
def embed(slug: str, form: str) -> Response:
    """Show the first rows to the readers or scripts of another site, as the public sees them."""
    with reading() as session:
        competition, split, count = (
            competition_of(session, slug),
            requests.asked_split(),
            asked_number("rows"),
        )
        if not competition.embeddable:
            abort(404)
        if count is not None and not 1 <= count <= PAGE_SIZE:
            raise Unreadable("rows", request.args["rows"], f"a whole number from 1 to {PAGE_SIZE}")
        wanted = requests.asked_lines(competition, own_team_id=None)
        view = CompetitionView(competition, now := db.now(session))
        board = leaderboard.board_of(
            session,
            competition=competition,
            split=split,
            phase=phases.phase(competition, now),
            viewer=Viewer.PUBLIC,
            now=now,
            request=replace(wanted, page_size=count or USUAL_ROWS),
            snapshot=lookups.snapshot(session, competition, now),
        )
    part = {"division": wanted.division, "board": wanted.board or None}
    full = site_link(f"leaderboards.{split}", slug=slug, **part)
    if form == "html":
        page = render_template("leaderboards/embed.html", competition=view, board=board, full=full)
        return shared(page, FRAMED)
    fields = ("rank", "team", "score", "entry_count")
    rows = [{name: getattr(row, name) for name in fields} for row in board.rows]
    state = {"competition": slug, "title": view.title, "url": full, "split": split, **part}
    answer = jsonify(state | {"team_count": board.team_count, "rows": rows})
    return shared(answer, {"Access-Control-Allow-Origin": "*"})


@blueprint.get('/leaderboard/final/<int:number>/<any("standings.csv", "croissant.json"):form>')
def final_file(slug: str, number: int, form: str) -> Response:
    """Download stored final standings, or their description in the format Croissant (JSON-LD)."""
    with reading() as session:
        competition = competition_of(session, slug)
        final = final_standings.page_of(session, competition=competition, number=number, page_size=WHOLE)
    rows = [(row.rank, row.team, row.score, row.public_rank) for row in final.rows]
    text = csv_lines([("rank", "team", "score", "public_rank"), *rows])
    if form == "standings.csv":
        response = Response(text, mimetype="text/csv")
        response.headers.set("Content-Disposition", "attachment", filename=f"{slug}-final-{number}.csv")
        return conditional(response)
    table = site_link("leaderboards.final_file", slug=slug, number=number, form="standings.csv")
    described = croissant.document(
        title=competition.title,
        address=site_link("leaderboards.final", slug=slug, number=number),
        creators=[f"Organizers of {competition.title}"],
        number=number,
        published=final.created_at,
        tables={"final": (table, text)},
    )
    return conditional(Response(described, mimetype="application/ld+json"))
