"""Rosters of classes: students, import with invitations (page and API)."""

import base64
from typing import Annotated, Any

from flask import Blueprint, request
from pydantic import Field

from grader.models import Role, SectionUse
from grader.services.closing import tables
from grader.services.competitions.acting import Act
from grader.services.identity import class_rosters, roster_file
from grader.services.site.paging import PAGE_SIZE, page_of_list
from grader.text import csv_lines
from webapp.http.fields import Answer, Paged, Sent, Text
from webapp.http.organizer_operations import DESK
from webapp.http.site import current_site, site_link
from webapp.surface import Ask, Surface

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


ROSTER = Surface(blueprint, tag="running", role=Role.EDITOR, acts=Role.OWNER, api=DESK)


@ROSTER.read("", None, endpoint="index", page="teams/roster.html")
def roster_page(ask: Ask, query: Paged) -> dict[str, Any]:
    """Show the students, and the form to import a roster."""
    made, competition = ask.shown.get("made"), ask.competition
    students = list(tables.students(ask.session, competition))
    rows = [[each.student, each.student_id, each.section, each.url or "e-mailed"]
            for each in (made.invitations if made else ())]  # fmt: skip
    links = csv_lines([HEADER, *rows]) if rows else ""
    return {
        "page": page_of_list(students, page=query.page, page_size=PAGE_SIZE),
        "use": request.form.get("sections", competition.section_use or SectionUse.NOTHING),
        "made": made,
        "links": links,
        "download": f"data:text/csv;base64,{base64.b64encode(links.encode()).decode()}",
        "form": {} if made else request.form,
    }


def _lines(**_: Any) -> list[str] | None:
    """Return the lines of the form's file or, without a file, of its text; None for the API."""
    file, text = request.files.get("file"), request.form.get("students", "")
    if request.blueprint == "api":
        return None
    return roster_file.lines_of(file.stream.read()) if file and file.filename else text.splitlines()


@ROSTER.act(
    "/students",
    form="import_students",
    back=roster_page,
    done=lambda made, **_: {"made": made},
    before=_lines,
    answers=RosterImport,
    status=201,
)
def import_students(act: Act, sent: RosterRequest, prepared: list[str] | None = None) -> RosterImport:
    """Import a roster: add or change students, and invite the new ones with one-time links.

    Either all students are imported or none. Students who are not in the list stay on the roster.
    """
    by_mail = sent.by_mail and current_site().settings.sends_mail()
    fields = sent.model_dump(exclude={"students", "by_mail"})
    lines = sent.students if prepared is None else prepared
    made, remarks = class_rosters.import_lines(act, lines=lines, by_mail=by_mail, **fields)
    invitations = [
        StudentInvitation(
            student=each.entry.name,
            student_id=each.entry.student_id,
            section=each.entry.section,
            url=site_link("account.join_class", token=each.token) if each.token else None,
        )
        for each in made
    ]
    return RosterImport(invitations=invitations, remarks=remarks)
