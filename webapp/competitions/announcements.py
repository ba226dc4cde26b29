"""Announcements (page and API): list, post, edit, withdraw."""

from typing import Annotated, Any

from flask import Blueprint, request
from pydantic import Field

from grader.models import Announcement, Role
from grader.services.competitions import announcements
from grader.services.competitions.acting import Act
from webapp.competitions import prose
from webapp.http.confirmation import confirm
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.http.site import current_site
from webapp.surface import Ask, Surface, after_commit

blueprint = Blueprint(
    "organize_announcements", __name__, url_prefix="/competitions/<slug>/organize/announcements"
)
ANNOUNCEMENTS = Surface(blueprint, tag="running", role=Role.VIEWER, acts=Role.EDITOR)


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
    """An announcement in a list."""

    id: int
    title: str
    body: str
    posted_at: Moment
    edited_at: Annotated[Moment | None, Field(description="The last edit; null if there was none.")]
    withdrawn_at: Moment | None


class AnnouncementList(Answer):
    """All announcements."""

    announcements: list[AnnouncementLine]


def _form(ask: Ask, edited: Announcement | None = None) -> dict[str, Any]:
    """Return the form for a new announcement or for the one to edit, and the posted announcements."""
    form = {"title": edited.title, "body": edited.body} if edited else {}
    form |= request.form.to_dict()
    slug = ask.competition.slug
    posted = announcements.list_all(ask.session, competition=ask.competition)
    return {
        "posted": [(each, prose.stored(each, slug, each.body)) for each in posted],
        "form": form,
        "edited_id": edited and edited.id,
        "readers": announcements.count_readers(ask.session, competition=ask.competition),
        "drawn": prose.Texts.of(ask.session, ask.competition).drawn(form.get("body", "")),
    }


PAGE = "competitions/announcements.html"


@ANNOUNCEMENTS.read("", AnnouncementList, endpoint="index", page=PAGE)
def announcement_list(ask: Ask) -> AnnouncementList:
    """List all announcements."""
    posted = announcements.list_all(ask.session, competition=ask.competition)
    if ask.is_page:
        ask.shown |= _form(ask)
    return AnnouncementList(announcements=[AnnouncementLine.model_validate(each) for each in posted])


@ANNOUNCEMENTS.read("/<int:announcement_id>", None, endpoint="show", page=PAGE)
def announcement_form(ask: Ask, announcement_id: int) -> Any:
    """Show the form to edit an announcement."""
    edited = announcements.get(ask.session, competition=ask.competition, announcement_id=announcement_id)
    return _form(ask, edited)


@ANNOUNCEMENTS.act(
    "",
    back=announcement_list,
    form="post",
    done="Announcement posted on the competition's Home page.",
    answers=AnnouncementLine,
    status=201,
)
def post_announcement(act: Act, sent: AnnouncementRequest) -> Announcement:
    """Post an announcement, optionally also by e-mail to all participants."""
    by_mail = sent.by_mail and current_site().settings.sends_mail()
    posted = announcements.post(act, title=sent.title, body=sent.body, by_mail=by_mail)
    if by_mail:
        confirm(
            f"E-mail “{posted.title}” to all participants?",
            "Post and send",
            "Sent e-mails cannot be recalled.",
            state=f"{posted.title}\n{posted.body}",
            is_final=True,
            can_change=True,
            session=act.session,
        )
    after_commit(prose.format_saved, act.competition.slug)
    return posted


@ANNOUNCEMENTS.act(
    "/<int:announcement_id>",
    method="PATCH",
    back=announcement_form,
    form="edit",
    done=lambda _, slug, **__: ("Announcement updated.", announcement_list.url(slug=slug)),
    answers=AnnouncementLine,
)
def edit_announcement(act: Act, sent: AnnouncementEdit, announcement_id: int) -> Announcement:
    """Change the title or the text of an announcement, and mark it as edited."""
    after_commit(prose.format_saved, act.competition.slug)
    return announcements.edit(act, announcement_id=announcement_id, title=sent.title, body=sent.body)


@ANNOUNCEMENTS.act(
    "/<int:announcement_id>",
    method="DELETE",
    back=announcement_list,
    form="withdraw",
    done="Announcement withdrawn.",
    status=204,
)
def withdraw_announcement(act: Act, sent: Confirmation, announcement_id: int) -> None:
    """Withdraw an announcement; e-mails already sent cannot be withdrawn."""
    announcements.withdraw(act, announcement_id=announcement_id)
    effect = "Participants will no longer see it. E-mails already sent cannot be withdrawn."
    confirm("Withdraw the announcement?", "Withdraw", effect, is_final=True)
