"""Rosters of classes: students, import with new accounts (page and API)."""

import base64
from typing import Annotated, Any

from flask import Blueprint, render_template, request, url_for
from pydantic import Field

from grader import db
from grader.models import Role, SectionUse
from grader.services.accounts import class_rosters, roster_file
from grader.services.accounts.class_rosters import NewAccount
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.exports import grades
from grader.services.paging import PAGE_SIZE, page_of_list
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
HEADER = ("name", "student id", "section", "account", "link")


class ClassRequest(Sent):
    """Students to add to the roster or to change, and the accounts to create for them."""

    names: Annotated[
        list[Text],
        Field(
            description=f"At most {roster_file.MOST:,} names, or the lines of a CSV with the columns name, "
            "e-mail, student id and section."
        ),
    ]
    with_tokens: Annotated[
        bool,
        Field(description="Whether each account gets an API token for this competition instead of a link."),
    ] = False
    by_mail: Annotated[bool, Field(description="E-mail the links to the students with an address.")] = False
    own_accounts: Annotated[
        bool, Field(description="Create no accounts; a verified address identifies students who join.")
    ] = False
    sections: Annotated[
        SectionUse | None,
        Field(description="Whether sections become divisions or teams; by default, as in the last import."),
    ] = None
    renew_links: Annotated[bool, Field(description="Replace links that were not used yet.")] = False
    remove_missing: Annotated[bool, Field(description="Remove students who are not in the list.")] = False


class ClassAccount(Answer):
    """A student's account, with a secret that is shown only in this response."""

    name: str
    url: Annotated[str | None, Field(description="One-time link to set the password, valid for 14 days.")]
    token: Annotated[str | None, Field(description="API token that can read and submit, valid for a year.")]
    student: str
    student_id: str | None
    section: str


class ClassAccounts(Answer):
    """The new accounts, in the order of the students in the request, and remarks on the roster."""

    accounts: Annotated[list[ClassAccount], Field(description="The new accounts with their secrets.")]
    remarks: list[str]


@blueprint.get("")
@organizers_only(Role.EDITOR)
def index(slug: str, *, problem: Any = None, made: ClassAccounts | None = None, **_: Any) -> str:
    """Show the students, and the form to import a roster."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        students = list(grades.students(session, competition))
    rows = [[each.student, each.student_id, each.section, each.name, each.url or each.token or "e-mailed"]
            for each in (made.accounts if made else ())]  # fmt: skip
    links = csv_lines([HEADER, *rows]) if rows else ""
    return render_template(
        "console/roster.html",
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
    refusals=(roster_file.InvalidClass, class_rosters.TooManyClasses, InvalidCompetition),
    show=index,
    home=lambda slug: url_for("organize_roster.index", slug=slug),
    role=Role.OWNER,
)


def _lines(**_: Any) -> list[str] | None:
    """Return the lines of the form's file or, without a file, of its text; None for the API."""
    file, text = request.files.get("file"), request.form.get("names", "")
    if request.blueprint == "api":
        return None
    return roster_file.lines_of(file.stream.read()) if file and file.filename else text.splitlines()


def _answer(made: tuple[list[NewAccount], list[str]]) -> ClassAccounts:
    accounts = [
        ClassAccount(
            name=each.name,
            url=site_link("account.reset", token=each.link_token) if each.link_token else None,
            token=each.api_token,
            student=each.entry.name,
            student_id=each.entry.student_id,
            section=each.entry.section,
        )
        for each in made[0]
    ]
    return ClassAccounts(accounts=accounts, remarks=made[1])


@ROSTER.action(
    "/accounts",
    page="create_accounts",
    before=_lines,
    shown=lambda made, slug: (index(slug=slug, made=_answer(made)), 201),
    answers=ClassAccounts,
    answer=lambda _act, made: _answer(made),
    status=201,
    creates=True,
    shows_secret=True,
)
def create_accounts(
    act: Act, sent: ClassRequest, prepared: list[str] | None = None
) -> tuple[list[NewAccount], list[str]]:
    """Import a roster: add or change students, and create accounts, each with a one-time link or a token.

    Either all students are imported or none. Students who are not in the list stay on the roster.
    """
    by_mail = sent.by_mail and current_site().settings.sends_mail()
    fields = sent.model_dump(exclude={"names", "by_mail"})
    lines = sent.names if prepared is None else prepared
    return class_rosters.import_lines(act, lines=lines, by_mail=by_mail, **fields)
