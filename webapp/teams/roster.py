"""Class rosters (page and API): students, import with invitations."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any

from flask import Blueprint, request
from pydantic import Field

from grader.models import Role, SectionUse
from grader.services.closing import tables
from grader.services.competitions.acting import Act
from grader.services.identity import class_rosters, roster_file
from grader.services.identity.class_rosters import Plan
from grader.services.identity.roster_file import Meaning
from grader.services.site.paging import PAGE_SIZE, page_of_list
from grader.text import counted, csv_lines
from webapp.http.confirmation import confirm
from webapp.http.fields import Answer, Confirmation, Paged, Text, entered
from webapp.http.organizer_operations import DESK
from webapp.http.site import current_site, site_link
from webapp.surface import Ask, Surface

blueprint = Blueprint("organize_roster", __name__, url_prefix="/competitions/<slug>/organize/roster")
VALUES = {"confirm", "students", "columns", "has_headings"}
HEADER = ("name", "student id", "section", "link")


class RosterRequest(Confirmation):
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
    columns: Annotated[
        list[Meaning] | None,
        Field(description="The meaning of each column; by default, headings and addresses are recognized."),
    ] = None
    has_headings: Annotated[
        bool | None,
        Field(description="Whether the first row has headings; by default, they are recognized."),
    ] = None

    @staticmethod
    def of_form(_act: Act, **_: Any) -> dict[str, Any]:
        """Return the fields of the form; the columns and headings are chosen in the preview."""
        fields = entered(RosterRequest) | {"columns": None, "has_headings": None}
        if chosen := request.form.getlist("columns"):
            columns = [meaning for each in chosen for meaning in each.split(",")]
            fields |= {"columns": columns, "has_headings": request.form.get("has_headings") == "yes"}
        return fields


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

    The confirmation states the meaning of the columns and who would be added, changed and missing. Either all
    students are imported or none. Students who are not in the list stay on the roster.
    """
    by_mail = sent.by_mail and current_site().settings.sends_mail()
    lines = sent.students if prepared is None else prepared
    plan = class_rosters.plan(act, lines=lines, **sent.model_dump(exclude={"confirm", "students", "by_mail"}))
    if not plan.problems or request.blueprint != "api":
        _ask(act, sent, plan, lines, by_mail=by_mail)
    made, remarks = class_rosters.apply(act, plan, by_mail=by_mail)
    invitations = [
        StudentInvitation(
            student=entry.name,
            student_id=entry.student_id,
            section=entry.section,
            url=site_link("account.join_class", token=token) if token else None,
        )
        for entry, token in made
    ]
    return RosterImport(invitations=invitations, remarks=remarks)


def _ask(act: Act, sent: RosterRequest, plan: Plan, lines: Sequence[str], *, by_mail: bool) -> None:
    """Ask for a confirmation of the columns and effects; a page shows problems with them."""
    sentences = list(plan.sentences)
    if by_mail:
        letters = counted(sum(each.email is not None for each in plan.invited), "e-mail")
        sentences.append(f"{letters} with a link will be sent.")
    slug, text = act.competition.slug, "\n".join(lines)
    ids = [each.entry and each.entry.id for each in plan.roster.students], [each.id for each in plan.missing]
    columns = [(each.heading, each.role) for each in plan.roster.columns]
    confirm(
        f"Import {counted(len(plan.roster.students), 'student')}?",
        "Import",
        *sentences,
        state=repr((sentences, columns, text, ids, sent.model_dump(exclude=VALUES))),
        template="teams/roster_preview.html",
        shown={"slug": slug, "plan": plan, "sent": sent, "text": text, "meanings": list(Meaning)},
    )
