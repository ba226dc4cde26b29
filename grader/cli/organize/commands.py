"""`fairboard competition`: the command group and its generated commands."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import click

from grader.cli.group import PartlyLocalGroup
from grader.cli.organize import closing, running, setup
from grader.cli.organize.generated import Generated
from grader.text import aligned, counted, csv_lines


def _granted(given: Mapping[str, Any], answer: Any) -> str:
    until = datetime.fromisoformat(answer["ends_at"])
    return (
        f"Extra submissions for {given['team'] or 'every team'} on {answer['day']}: {answer['count']:,}. "
        f"They are available until {until:%Y-%m-%d %H:%M} UTC."
    )


def _decided(given: Mapping[str, Any], _answer: Any) -> str:
    decision = "not admitted" if given["admit"] is False else "admitted"
    return f"{given['name']} is {decision} to {given['slug']}."


def _retried(_given: Mapping[str, Any], answer: Any) -> str:
    verb = "is" if answer["job_count"] == 1 else "are"
    return f"{counted(answer['job_count'], 'submission')} {verb} being retried."


def _imported(_given: Mapping[str, Any], answer: Any) -> str:
    for note in answer["remarks"]:
        click.echo(note, err=True)
    values = ("student", "student_id", "section", "url")
    rows = [[each[name] for name in values] for each in answer["invitations"]]
    return csv_lines([["name", "student id", "section", "link"], *rows], line_end="\n").rstrip()


def _organizers(_given: Mapping[str, Any], answer: Any) -> str:
    lines = [[each["name"], each["role"], each["added_at"][:10]] for each in answer["organizers"]]
    return "\n".join(aligned([["name", "role", "since"], *lines], numbers=False))


def _carried(_given: Mapping[str, Any], answer: Any) -> str:
    skipped = (f"{each['member'] or each['team']}: {each['reason']}" for each in answer["skipped"])
    return "\n".join([f"{counted(len(answer['teams']), 'team')} carried over.", *skipped])


TODAY: Mapping[str, Callable[[], Any]] = {"day": lambda: f"{datetime.now(UTC):%Y-%m-%d}"}
GENERATED = {
    "admit": Generated("decide_entry", _decided, {"name": "USER"}, defaults={"admit": lambda: True}),
    "announce": Generated(
        "post_announcement",
        "Announcement {answer[id]} was posted on the Home page of {slug}.",
        {"body": "TEXT"},
    ),
    "archive": Generated("archive_competition", "{slug} is archived."),
    "carry-over": Generated("carry_over_teams", _carried),
    "delete": Generated(
        "delete_draft",
        "{slug} is deleted.",
        question="This deletes everything stored for the draft and cannot be undone. Delete?",
    ),
    "disqualify": Generated(
        "disqualify_team", "{answer[name]} is disqualified in {slug}: {answer[disqualified_because]}"
    ),
    "free-team-name": Generated("free_team_name", "{answer[name]} can choose its name again."),
    "grant": Generated(
        "grant_submissions",
        _granted,
        {"count": "COUNT"},
        required=("reason",),
        optional="--team",
        without="grant_submissions_to_all",
        defaults=TODAY,
    ),
    "mark": Generated("mark_submission", "Submission #{submission} of {slug} is {kind}.", {"kind": "KIND"}),
    "next-stage": Generated(
        "next_stage", "{answer[slug]} is a draft of the next stage.", {"new_slug": "NEW_SLUG"}
    ),
    "pause": Generated(
        "pause_submissions",
        "Submissions to {slug} are paused. Participants who try to submit see: {message}",
        required=("message",),
    ),
    "publish": Generated("publish_competition", "{slug} is published.", prepare=setup.require_released),
    "reinstate": Generated("reinstate_team", "{answer[name]} is back on the leaderboards of {slug}."),
    "rename-team": Generated(
        "give_team_name", "{team} is now called {answer[name]}.", {"name": "NAME"}, ("reason",)
    ),
    "resume": Generated("resume_submissions", "Submissions to {slug} are open again."),
    "roster": Generated("import_students", _imported, {"students": "FILE"}),
    "retry": Generated("retry_submission", _retried, optional="submission", without="retry_submissions"),
    "unarchive": Generated("unarchive_competition", "{slug} is {answer[state]} again."),
}
ORGANIZERS = {
    "list": Generated("organizer_list", _organizers),
    "remove": Generated("remove_organizer", "{user} is no longer an organizer of {slug}."),
}
WHOLE = (
    setup.create,
    setup.list_all,
    setup.settings,
    setup.apply,
    setup.clone,
    setup.change,
    setup.data,
    setup.metric_file,
    setup.allow_data,
    closing.reveal,
    closing.bundle,
    closing.publish_solution,
    closing.receipt,
    running.export,
    running.show_audit,
    running.organizer,
)
LOCAL = {
    "check": ("grader.cli.metric.check", "Check a solution file before you create a competition."),
}


@click.group(cls=PartlyLocalGroup, local=LOCAL)
def competition() -> None:
    """Create, list, change, moderate and reveal competitions."""


for command in WHOLE:
    competition.add_command(command)
for name, generated in GENERATED.items():
    competition.add_command(generated.command(name))
for name, generated in ORGANIZERS.items():
    running.organizer.add_command(generated.command(name))
