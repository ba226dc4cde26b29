"""Organizers' page of announcements: write, post and withdraw one."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role
from grader.services.competitions import announcements
from webapp.competitions import prose
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm, wants_to_change
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import status_of
from webapp.http.site import current_site

blueprint = Blueprint(
    "organize_announcements", __name__, url_prefix="/competitions/<slug>/organize/announcements"
)


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show the form and what was announced."""
    return _page(slug)


@blueprint.post("")
@organizers_only(Role.EDITOR)
def post(slug: str) -> ResponseReturnValue:
    """Post an announcement, or show first how it will look."""
    form, sends_mail = request.form, current_site().settings.sends_mail()
    if wants_to_change():
        return _page(slug)
    if form.get("act") == "preview":
        return _page(slug)
    try:
        with writing() as session:
            by_mail = sends_mail and form.get("by_mail") == "yes"
            posted = announcements.post(
                session,
                competition=competition_of(session, slug),
                title=form.get("title", ""),
                body=form.get("body", ""),
                by_mail=by_mail,
                actor=actor(),
            )
            if by_mail:
                confirm(
                    Question(
                        heading=f"E-mail {posted.title} to everybody?",
                        sentences=(
                            "All participants who want such e-mails will get it. You cannot undo this.",
                        ),
                        button="Post and send",
                        back=url_for(".index", slug=slug),
                        state=f"{posted.title}\n{posted.body}",
                        is_final=True,
                        can_change=True,
                    )
                )
    except announcements.InvalidAnnouncement as error:
        return _page(slug, problems=error.problems), status_of(error)
    prose.format_saved(slug)
    flash("The announcement is on the competition's overview.")
    return redirect(url_for("organize_announcements.index", slug=slug), 303)


@blueprint.get("/<int:announcement_id>")
@organizers_only(Role.EDITOR)
def show(slug: str, announcement_id: int) -> ResponseReturnValue:
    """Show the form that edits an announcement."""
    return _page(slug, edited_id=announcement_id)


@blueprint.post("/<int:announcement_id>")
@organizers_only(Role.EDITOR)
def edit(slug: str, announcement_id: int) -> ResponseReturnValue:
    """Change an announcement, or show first how it will look."""
    form = request.form
    if form.get("act") == "preview":
        return _page(slug, edited_id=announcement_id)
    try:
        with writing() as session:
            announcements.edit(
                session,
                competition=competition_of(session, slug),
                announcement_id=announcement_id,
                title=form.get("title", ""),
                body=form.get("body", ""),
                actor=actor(),
            )
    except announcements.InvalidAnnouncement as error:
        return _page(slug, edited_id=announcement_id, problems=error.problems), status_of(error)
    prose.format_saved(slug)
    flash("The announcement is changed.")
    return redirect(url_for("organize_announcements.index", slug=slug), 303)


@blueprint.post("/<int:announcement_id>/withdraw")
@organizers_only(Role.EDITOR)
def withdraw(slug: str, announcement_id: int) -> ResponseReturnValue:
    """Show an announcement no longer."""
    with writing() as session:
        competition = competition_of(session, slug)
        announcements.withdraw(
            session, competition=competition, announcement_id=announcement_id, actor=actor()
        )
        confirm(
            Question(
                heading="Withdraw the announcement?",
                sentences=(
                    "Participants will no longer see it.",
                    *(
                        ("E-mails that were already sent cannot be withdrawn.",)
                        if current_site().settings.sends_mail()
                        else ()
                    ),
                ),
                button="Withdraw",
                back=url_for(".index", slug=slug),
                is_final=True,
            )
        )
    flash("Announcement withdrawn.")
    return redirect(url_for("organize_announcements.index", slug=slug), 303)


def _page(slug: str, *, problems: tuple[str, ...] = (), edited_id: int | None = None) -> str:
    form: dict[str, str] = request.form.to_dict()
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        posted = announcements.list_all(session, competition=competition)
        if edited_id is not None:
            edited = announcements.get(session, competition=competition, announcement_id=edited_id)
            form = {"title": edited.title, "body": edited.body} | form
        texts = prose.Texts.of(session, competition)
    return render_template(
        "running/announcements.html",
        competition=CompetitionView(competition, now),
        posted=[(each, prose.stored(each, slug, each.body)) for each in posted],
        form=form,
        edited_id=edited_id,
        drawn=texts.drawn(form.get("body", "")),
        problems=problems,
    )
