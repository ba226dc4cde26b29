"""Announcements (page and API): list, post, edit, withdraw."""

from typing import Annotated, Any

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import Field

from grader import db
from grader.models import Announcement, Role
from grader.services.competitions import announcements
from grader.services.competitions.acting import Act
from webapp.competitions import prose
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http.actions import Family, sentences
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.http.site import current_site

blueprint = Blueprint(
    "organize_announcements", __name__, url_prefix="/competitions/<slug>/organize/announcements"
)


class AnnouncementRequest(Confirmation):
    """An announcement in Markdown. An announcement sent by e-mail cannot be recalled."""

    title: Text
    body: Text
    by_mail: bool = False


class AnnouncementEdit(Sent):
    """The new title and text of an announcement; omitted fields stay unchanged."""

    title: Annotated[Text | None, Field(description="The new title.")] = None
    body: Annotated[Text | None, Field(description="The new text, in Markdown.")] = None


class AnnouncementLine(Answer):
    """An announcement."""

    id: int
    title: str
    body: str
    posted_at: Moment
    edited_at: Annotated[Moment | None, Field(description="The last edit; null if there was none.")]
    withdrawn_at: Moment | None


class AnnouncementList(Answer):
    """All announcements."""

    announcements: list[AnnouncementLine]


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, announcement_id: int | None = None, problem: Any = None) -> str:
    """List the announcements, with the form for a new one or for the announcement to edit."""
    form: dict[str, str] = request.form.to_dict()
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        posted = announcements.list_all(session, competition=competition)
        if announcement_id is not None:
            edited = announcements.get(session, competition=competition, announcement_id=announcement_id)
            form = {"title": edited.title, "body": edited.body} | form
        texts = prose.Texts.of(session, competition)
    return render_template(
        "competitions/announcements.html",
        competition=CompetitionView(competition, now),
        posted=[(each, prose.stored(each, slug, each.body)) for each in posted],
        form=form,
        edited_id=announcement_id,
        drawn=texts.drawn(form.get("body", "")),
        problems=sentences(problem),
    )


@blueprint.get("/<int:announcement_id>")
@organizers_only(Role.EDITOR)
def show(slug: str, announcement_id: int) -> ResponseReturnValue:
    """Show the form to edit an announcement."""
    return index(slug=slug, announcement_id=announcement_id)


@api.blueprint.get(f"{DESK}/announcements")
@organizers_operation(Role.VIEWER, answers=AnnouncementList, tag="running")
def announcement_list(slug: str) -> AnnouncementList:
    """List all announcements."""
    with reading() as session:
        posted = announcements.list_all(session, competition=competition_of(session, slug))
    return AnnouncementList(announcements=[AnnouncementLine.model_validate(each) for each in posted])


def _format(act: Act, _posted: Announcement) -> None:
    prose.format_saved(act.competition.slug)


ANNOUNCEMENTS = Family(
    pages=blueprint,
    tag="running",
    refusals=(announcements.InvalidAnnouncement,),
    show=index,
    home=lambda slug, **_: url_for("organize_announcements.index", slug=slug),
    answers=AnnouncementLine,
    answer=lambda _act, posted, **_: AnnouncementLine.model_validate(posted),
    role=Role.EDITOR,
)


@ANNOUNCEMENTS.action(
    "",
    page="post",
    done="Announcement posted on the competition's Home page.",
    status=201,
    after=_format,
)
def post_announcement(act: Act, sent: AnnouncementRequest) -> Announcement:
    """Post an announcement, optionally also by e-mail to all participants."""
    by_mail = sent.by_mail and current_site().settings.sends_mail()
    posted = announcements.post(act, title=sent.title, body=sent.body, by_mail=by_mail)
    if by_mail:
        confirm(
            Question(
                heading=f"E-mail “{posted.title}” to all participants?",
                sentences=(
                    "It is sent to all participants who receive such e-mails. This cannot be undone.",
                ),
                button="Post and send",
                back=url_for("organize_announcements.index", slug=act.competition.slug),
                state=f"{posted.title}\n{posted.body}",
                is_final=True,
                can_change=True,
            )
        )
    return posted


@ANNOUNCEMENTS.action(
    "/<int:announcement_id>",
    method="PATCH",
    page="edit",
    done="Announcement updated.",
    after=_format,
)
def edit_announcement(act: Act, sent: AnnouncementEdit, announcement_id: int) -> Announcement:
    """Change the title or the text of an announcement, and mark it as edited."""
    return announcements.edit(act, announcement_id=announcement_id, title=sent.title, body=sent.body)


@ANNOUNCEMENTS.action(
    "/<int:announcement_id>",
    method="DELETE",
    page="withdraw",
    page_path="/<int:announcement_id>/withdraw",
    done="Announcement withdrawn.",
    status=204,
)
def withdraw_announcement(act: Act, sent: Confirmation, announcement_id: int) -> None:
    """Withdraw an announcement; e-mails already sent cannot be withdrawn."""
    announcements.withdraw(act, announcement_id=announcement_id)
    sent_mail = ("E-mails already sent cannot be withdrawn.",)
    confirm(
        Question(
            heading="Withdraw the announcement?",
            sentences=(
                "Participants will no longer see it.",
                *(sent_mail if current_site().settings.sends_mail() else ()),
            ),
            button="Withdraw",
            back=url_for("organize_announcements.index", slug=act.competition.slug),
            is_final=True,
        )
    )
