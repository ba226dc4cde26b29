"""Options shared by `fairboard competition create` and `change`, and by `fairboard rescore`."""

from typing import Any

import click

from grader.cli.parameters import Deadline, LocalPath, NameList, Time, from_jigsaw_option, options, text_of
from grader.visibility import USUAL_FEEDBACK, Feedback, Step

NO_LIMIT = "none"
USUAL_DEADLINE = "7 days before the close, or the close of a competition shorter than 28 days"
FILE, FOLDER = LocalPath(exists=True, dir_okay=False), LocalPath(file_okay=False)


class Limit(click.ParamType):  # type: ignore[type-arg]
    """A whole number, or ``none``."""

    name = "n|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == NO_LIMIT:
            return NO_LIMIT
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} must be a whole number or none.", param, ctx)


creation_options = options(
    click.argument("slug"),
    click.option("--solution", type=FILE, help="The secret solution file: id, label, identities and Usage."),
    from_jigsaw_option,
    click.option("--title", help="The title of the competition."),
    click.option("--overview", type=FILE, help="A Markdown file with the overview, shown on the Home page."),
    click.option("--label", help="The label column; by default target, label or toxicity."),
    click.option(
        "--identities",
        type=NameList(),
        help="The identities in the score; by default, those with enough rows of both classes in both "
        "splits.",
    ),
    click.option("--opens", "opens_at", type=Time(), help="The opening date (UTC); by default, now."),
    click.option("--closes", "closes_at", type=Deadline(), help="The closing date (UTC); by default, none."),
    click.option("--owner", help="The account that owns the competition and submits the sample submission."),
    click.option(
        "--publish",
        "is_published",
        is_flag=True,
        help="Publish the draft created from FILE.toml immediately.",
    ),
)
# These are the settings that most competitions change. They are listed here because the settings model is
# part of the extra `server`.
condition_options = options(
    click.option(
        "--rules", type=FILE, help="A Markdown file with the rules, which participants must accept to join."
    ),
    click.option(
        "--entry",
        "entry_mode",
        type=click.Choice(["open", "code", "approval"]),
        help="Who may join: everyone, people with the code, or people whom an organizer admits.  "
        "[default: open]",
    ),
    click.option("--entry-code", help="The entry code, for `--entry code`."),
    click.option(
        "--entry-deadline", type=Deadline(), help=f"The entry deadline; by default, {USUAL_DEADLINE}."
    ),
    click.option(
        "--merger-deadline",
        type=Deadline(),
        help=f"The deadline for adding members and merging teams; by default, {USUAL_DEADLINE}.",
    ),
    click.option(
        "--team-size", "max_team_size", type=int, help="Maximum number of members per team.  [default: 5]"
    ),
    click.option(
        "--daily-limit",
        "max_daily_submissions",
        type=Limit(),
        help="Maximum number of submissions per team and UTC day.  [default: 5]",
    ),
    click.option(
        "--total-limit",
        "max_total_submissions",
        type=Limit(),
        help="Maximum number of submissions per team in total.  [default: none]",
    ),
    click.option(
        "--pending-limit",
        "max_pending_submissions",
        type=int,
        help="Maximum number of pending submissions per team.  [default: 5]",
    ),
    click.option(
        "--rejection-limit",
        "max_hourly_rejections",
        type=int,
        help="Maximum number of rejected files per team and hour.  [default: 30]",
    ),
    click.option(
        "--selections",
        "selection_count",
        type=int,
        help="Number of submissions that a team can select for the private leaderboard.  [default: 2]",
    ),
    click.option(
        "--late/--no-late",
        "takes_late_submissions",
        help="Whether late submissions are scored after the reveal.  [default: late]",
        default=None,
    ),
    click.option(
        "--reveals",
        "reveals_at",
        type=Deadline(),
        help="The date of the automatic reveal of the private leaderboard; by default, 7 days after the "
        "close.",
    ),
    click.option(
        "--feedback",
        type=click.Choice([each.value for each in Feedback]),
        help="The feedback mode: how much teams see of their scores before the reveal.  [default: "
        f"{USUAL_FEEDBACK}]",
    ),
    click.option(
        "--feedback-step",
        type=click.Choice([each.value for each in Step]),
        help="The width of a band in tiered mode. [default: 0.002]",
    ),
)
rescoring_options = options(
    click.argument("slug"),
    click.argument("solution", type=FILE, required=False),
    click.option("--settings", type=FILE, help="A TOML file with a new [metric], instead of SOLUTION."),
    click.option(
        "--rollback", type=int, metavar="NUMBER", help="The earlier scoring version to roll back to."
    ),
    click.option("--reason", help="The reason why the scores change; participants can see it."),
    click.option(
        "--preview",
        is_flag=True,
        help=("Score all submissions and show the difference, but do not publish it."),
    ),
    click.option("--publish", is_flag=True, help="Publish the rescoring in progress."),
    click.option(
        "--difference", is_flag=True, help="Show the changes that the rescoring in progress would make."
    ),
    click.option("--drop", is_flag=True, help="Cancel the rescoring in progress."),
    click.option(
        "--csv", "folder", type=FOLDER, help="Folder to write the full difference to, as CSV files."
    ),
    click.option(
        "--notice", default="", help=("A message to e-mail to teams with their old and new public scores.")
    ),
    click.option(
        "--extra-submissions",
        type=click.IntRange(0),
        default=0,
        help="Extra submissions for every team, today (UTC).",
    ),
    click.option("--closes", "closes_at", type=Time(), help="A later closing date (UTC)."),
    click.option("--selection-until", type=Time(), help="Reopen the final selection until this time (UTC)."),
    click.option(
        "--yes", is_flag=True, help="Switch the leaderboards without asking for confirmation (for scripts)."
    ),
    click.option(
        "--lose-scores",
        is_flag=True,
        help="Switch even if submissions lose their scores because rescoring them failed.",
    ),
)


def conditions(options: dict[str, Any]) -> dict[str, Any]:
    """Return the given options, keyed by setting name."""
    given = {name: value for name, value in options.items() if value is not None}
    if "rules" in given:
        given["rules"] = text_of(given["rules"])
    if "entry_code" in given:
        given.setdefault("entry_mode", "code")
    return {name: None if value == NO_LIMIT else value for name, value in given.items()}
