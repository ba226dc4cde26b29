"""`fairboard competition`: the command group and its single-request commands."""

import click

from grader.cli.group import PartlyLocalGroup
from grader.cli.organize import closing, running, setup
from grader.cli.organize.acts import Simple, named_team
from grader.cli.parameters import LocalPath, Time

FILE = LocalPath(exists=True, dir_okay=False)
SLUG, TEAM, USER = click.argument("slug"), click.argument("team"), click.argument("user")
SUBMISSION = click.argument("submission", type=int)
SEEN_REASON = click.option("--reason", required=True, help="The reason; the team can see it.")
AUDITED_REASON = click.option("--reason", default="", help="The reason; the audit log shows it.")
CLOSE = click.option("--closes", "closes_at", type=Time(), help=("The new closing date (UTC)."))

MARKS = ("normal", "benchmark", "hidden")

SIMPLE = (
    Simple(
        "pause",
        (
            SLUG,
            click.option(
                "--message", required=True, help="The message shown to participants who try to submit."
            ),
            CLOSE,
        ),
        "POST pause",
        "Submissions to {slug} are paused. Participants who try to submit see: {message}",
        "Pause submissions to SLUG; its leaderboards stay readable.",
    ),
    Simple(
        "resume",
        (SLUG, CLOSE),
        "POST resume",
        "Submissions to {slug} are open again.",
        "Resume submissions to SLUG.",
    ),
    Simple(
        "announce",
        (
            SLUG,
            click.argument("text", type=FILE),
            click.option("--title", required=True, help="The title of the announcement."),
            click.option("--mail", "by_mail", is_flag=True, help="Also send the announcement by e-mail."),
        ),
        "POST announcements",
        "Announcement {answer[id]} was posted on the Home page of {slug}.",
        "Post the Markdown file TEXT as an announcement on the Home page of SLUG.",
        {"text": "body"},
    ),
    Simple(
        "rename-team",
        (SLUG, TEAM, click.argument("name"), SEEN_REASON),
        "PUT teams/{team_id}/name",
        "{team} is now called {answer[name]}.",
        "Rename TEAM of SLUG to NAME; the team cannot change it until you run `free-team-name`.",
        finds=named_team,
    ),
    Simple(
        "free-team-name",
        (SLUG, TEAM),
        "DELETE teams/{team_id}/name",
        "{answer[name]} can choose its name again.",
        "Allow TEAM of SLUG to choose its name again after an organizer renamed it.",
        finds=named_team,
    ),
    Simple(
        "disqualify",
        (SLUG, TEAM, SEEN_REASON),
        "POST teams/{team_id}/disqualification",
        "{answer[name]} is disqualified in {slug}: {answer[disqualified_because]}",
        "Remove TEAM from every leaderboard of SLUG; the teams below it move up.",
        finds=named_team,
        is_confirmed=True,
    ),
    Simple(
        "reinstate",
        (SLUG, TEAM),
        "POST teams/{team_id}/reinstatement",
        "{answer[name]} is back on the leaderboards of {slug}.",
        "Reinstate the disqualified TEAM on the leaderboards of SLUG.",
        finds=named_team,
    ),
    Simple(
        "mark",
        (SLUG, SUBMISSION, click.argument("kind", type=click.Choice(MARKS))),
        "POST submissions/{submission}/kind",
        "Submission #{submission} of {slug} is {kind}.",
        "Mark SUBMISSION of SLUG as benchmark (shown unranked), hidden (organizers only) or normal.",
    ),
    Simple(
        "archive",
        (SLUG, AUDITED_REASON),
        "POST state/archive",
        "{slug} is archived.",
        "Archive SLUG: it stays readable, accepts no files and is listed below other competitions.",
    ),
    Simple(
        "unarchive",
        (SLUG, AUDITED_REASON),
        "POST state/unarchive",
        "{slug} is {answer[state]} again.",
        "Unarchive SLUG.",
    ),
)
WHOLE = (
    setup.create,
    setup.list_all,
    setup.settings,
    setup.apply,
    setup.clone,
    setup.publish,
    setup.change,
    setup.delete,
    setup.data,
    setup.allow_data,
    closing.reveal,
    closing.finalize,
    closing.verify,
    closing.bundle,
    closing.publish_solution,
    closing.receipt,
    running.admit,
    running.grant,
    running.retry,
    running.export,
    running.show_audit,
    running.organizer,
    running.create_accounts,
)


LOCAL = {
    "check": ("grader.cli.metric.check", "Check a solution file before you create a competition."),
}


@click.group(cls=PartlyLocalGroup, local=LOCAL)
def competition() -> None:
    """Create, list, change, moderate, reveal and finalize competitions."""


for command in (*WHOLE, *(each.command() for each in SIMPLE)):
    competition.add_command(command)
