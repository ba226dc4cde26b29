"""Options for dates, limits, entry and feedback of `competition create` and `competition change`."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import click

from grader.cli.parameters import Deadline, LocalPath, text_of
from grader.visibility import USUAL_FEEDBACK, Feedback, Step

Command = TypeVar("Command", bound=Callable[..., Any])

NO_LIMIT = "none"


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


_OPTIONS = (
    click.option(
        "--rules",
        type=LocalPath(exists=True, dir_okay=False),
        help="A Markdown file of rules; people must accept them to join.",
    ),
    click.option(
        "--entry",
        "entry_mode",
        type=click.Choice(["open", "code", "approval"]),
        help=(
            "Who may join: everybody, people who know the code, or people whom an organizer admits.  "
            "[default: open]"
        ),
    ),
    click.option("--entry-code", help="The code for --entry code."),
    click.option(
        "--entry-deadline",
        type=Deadline(),
        help="The entry deadline; by default 7 days before the close.",
    ),
    click.option(
        "--merger-deadline",
        type=Deadline(),
        help="The merger deadline: teams can grow and merge until then; by default 7 days before the close.",
    ),
    click.option(
        "--team-size", "max_team_size", type=int, help="How many members a team may have.  [default: 5]"
    ),
    click.option(
        "--daily-limit",
        "max_daily_submissions",
        type=Limit(),
        help="Submissions of a team per UTC day.  [default: 5]",
    ),
    click.option(
        "--total-limit",
        "max_total_submissions",
        type=Limit(),
        help="Submissions of a team in total.  [default: none]",
    ),
    click.option(
        "--pending-limit",
        "max_pending_submissions",
        type=int,
        help="Pending submissions of a team at once.  [default: 5]",
    ),
    click.option(
        "--rejection-limit",
        "max_hourly_rejections",
        type=int,
        help="Rejected files of a team per hour.  [default: 30]",
    ),
    click.option(
        "--selections",
        "selection_count",
        type=int,
        help="Submissions that a team selects for the private leaderboard.  [default: 2]",
    ),
    click.option(
        "--late/--no-late",
        "takes_late_submissions",
        default=None,
        help="Whether files are scored after the reveal.  [default: late]",
    ),
    click.option(
        "--reveals",
        "reveals_at",
        type=Deadline(),
        help="When the private leaderboard is revealed automatically; by default 7 days after the close.",
    ),
    click.option(
        "--feedback",
        type=click.Choice([each.value for each in Feedback]),
        help=f"What teams see of their scores before the reveal.  [default: {USUAL_FEEDBACK}]",
    ),
    click.option(
        "--feedback-step",
        type=click.Choice([each.value for each in Step]),
        help="The step of the feedback tiered, ladder or noised.  [default: 0.002]",
    ),
)


def condition_options(command: Command) -> Command:
    """Give a command the options; those that were not given come as None."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def plainly_given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the conditions that were given, under the names of the settings, as texts and numbers."""
    conditions = {name: value for name, value in options.items() if value is not None}
    if "rules" in conditions:
        conditions["rules"] = text_of(conditions["rules"])
    if "entry_code" in conditions:
        conditions.setdefault("entry_mode", "code")
    return {name: None if value == NO_LIMIT else value for name, value in conditions.items()}


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the conditions that were given, as the settings have them."""
    from grader.models import EntryMode

    conditions = plainly_given(options)
    kinds: dict[str, type[StrEnum]] = {
        "entry_mode": EntryMode,
        "feedback": Feedback,
        "feedback_step": Step,
    }
    return conditions | {name: kind(conditions[name]) for name, kind in kinds.items() if name in conditions}
