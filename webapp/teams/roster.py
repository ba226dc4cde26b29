"""Rosters of classes: students, import with invitations (page and API)."""

import base64
from typing import Annotated, Any

from flask import Blueprint, render_template, request, url_for
from pydantic import Field

from grader import db
from grader.models import Role, SectionUse
from grader.services.closing import tables
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.identity import class_rosters, roster_file
from grader.services.identity.class_rosters import ClassInvitation
from grader.services.site.mail_limits import TooMuchMail
from grader.services.site.paging import PAGE_SIZE, page_of_list
from grader.text import csv_lines
from webapp.competitions.views import CompetitionView
from webapp.http.actions import Family
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Sent, Text
from webapp.http.organizer_operations import DESK
from webapp.http.parameters import asked_page
from webapp.http.site import current_site, site_link

blueprint = Blueprint("organize_roster", __name__, url_prefix="/competitions/<slug>/organize/roster")
HEADER = ("name", "student id", "section", "link")


class RosterRequest(Sent):
    """Students to add to the roster or to change, and how they are invited."""

    students: Annotated[
        list[Text],
        Field(
            description=f"At most {roster_file.MOST:,} names, or the lines of a CSV with the columns name, "
            "e-mail, student id and section."
        ),
    ]
    by_mail: Annotated[bool, Field(description="E-mail the links to the students with an address.")] = False
    own_accounts: Annotated[
        bool, Field(description="Create no links; a verified address identifies students who join.")
    ] = False
    sections: Annotated[
        SectionUse | None,
        Field(description="Whether sections become divisions or teams; by default, as in the last import."),
    ] = None
    renew_links: Annotated[
        bool, Field(description="Replace the links of the listed students who have not joined.")
    ] = False
    remove_missing: Annotated[bool, Field(description="Remove students who are not in the list.")] = False


class StudentInvitation(Answer):
    """The invitation of a student, with a link that is shown only in this response."""

    student: str
    student_id: str | None
    section: str
    url: Annotated[
        str | None,
        Field(
            description="One-time link to join with any account, valid for 14 days; null if it was e-mailed."
        ),
    ]


class RosterImport(Answer):
    """The invitations, in the order of the students in the request, and remarks on the roster."""

    invitations: Annotated[list[StudentInvitation], Field(description="The invitations with their links.")]
    remarks: list[str]


@blueprint.get("")
@organizers_only(Role.EDITOR)
def index(slug: str, *, problem: Any = None, made: RosterImport | None = None, **_: Any) -> str:
    """Show the students, and the form to import a roster."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        students = list(tables.students(session, competition))
    rows = [[each.student, each.student_id, each.section, each.url or "e-mailed"]
            for each in (made.invitations if made else ())]  # fmt: skip
    links = csv_lines([HEADER, *rows]) if rows else ""
    return render_template(
        "teams/roster.html",
        competition=view,
        page=page_of_list(students, page=asked_page(), page_size=PAGE_SIZE),
        use=request.form.get("sections", competition.section_use or SectionUse.NOTHING),
        problems=problem.message.splitlines() if problem else [],
        made=made,
        links=links,
        download=f"data:text/csv;base64,{base64.b64encode(links.encode()).decode()}",
        form={} if made else request.form,
    )


ROSTER = Family(
    pages=blueprint,
    api=DESK,
    tag="running",
    refusals=(roster_file.InvalidClass, TooMuchMail, InvalidCompetition),
    show=index,
    home=lambda slug: url_for("organize_roster.index", slug=slug),
    role=Role.OWNER,
)


def _lines(**_: Any) -> list[str] | None:
    """Return the lines of the form's file or, without a file, of its text; None for the API."""
    file, text = request.files.get("file"), request.form.get("students", "")
    if request.blueprint == "api":
        return None
    return roster_file.lines_of(file.stream.read()) if file and file.filename else text.splitlines()


def _answer(made: tuple[list[ClassInvitation], list[str]]) -> RosterImport:
    invitations = [
        StudentInvitation(
            student=each.entry.name,
            student_id=each.entry.student_id,
            section=each.entry.section,
            url=site_link("account.join_class", token=each.token) if each.token else None,
        )
        for each in made[0]
    ]
    return RosterImport(invitations=invitations, remarks=made[1])


@ROSTER.action(
    "/students",
    page="import_students",
    before=_lines,
    shown=lambda made, slug: (index(slug=slug, made=_answer(made)), 201),
    answers=RosterImport,
    answer=lambda _act, made: _answer(made),
    status=201,
)
def import_students(
    act: Act, sent: RosterRequest, prepared: list[str] | None = None
) -> tuple[list[ClassInvitation], list[str]]:
    """Import a roster: add or change students, and invite the new ones with one-time links.

    Either all students are imported or none. Students who are not in the list stay on the roster.
    """
    by_mail = sent.by_mail and current_site().settings.sends_mail()
    fields = sent.model_dump(exclude={"students", "by_mail"})
    lines = sent.students if prepared is None else prepared
    return class_rosters.import_lines(act, lines=lines, by_mail=by_mail, **fields)
