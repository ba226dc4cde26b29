"""Team divisions: choice by leaders, assignment by organizers."""

import csv
from collections.abc import Iterable

from sqlalchemy import select

from grader.errors import ErrorKind, FairboardError, OrganizerRefusal, Refusal
from grader.models import Team
from grader.services.competitions import lookup, phases, settings, settings_problems
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import LINE_CUT, division_names
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.site import log
from grader.services.teams import moderation, rosters
from grader.text import one_line


def choose(act: Act, *, division: str) -> None:
    """Choose the division of the team that the person leads; raise Refusal."""
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    if not phases.takes_divisions(act.competition, act.now):
        message = "Only the organizers can change your team's division."
        raise Refusal("division_fixed", ErrorKind.FORBIDDEN, message)
    assign(act, team, division)


def assign(act: Act, team: Team, division: str | None) -> bool:
    """Set the division of a team, None for no division; return whether it changed. Raise Refusal."""
    lookup.require_division(division, division_names(act.competition.divisions))
    before, team.division = team.division, division
    if before != division:
        subject = f"team {log.mention(team)}"
        act.record("team.divide", subject, before={"division": before}, after={"division": division})
    return before != division


def assign_all(act: Act, divisions: Iterable[tuple[Team, str | None]]) -> int:
    """Set the divisions of teams for an organizer; return the number of changed teams."""
    return sum([assign(act, team, division) for team, division in divisions])


def rename(act: Act, *, division: str, name: str) -> int:
    """Rename a division, or merge it into the division with this name; return the number of its teams.

    Raise Refusal or InvalidCompetition.
    """
    known, name = division_names(act.competition.divisions), one_line(name, LINE_CUT)
    lookup.require_division(division, known)
    if not name:
        raise OrganizerRefusal("invalid_divisions", ErrorKind.CONFLICT, "Enter the new name of the division.")
    others = [each for each in known if each != division]
    names = others if name in others else [name if each == division else each for each in known]
    changes = {"divisions": "\n".join(names)}
    if faults := settings_problems.read(changes)[1]:
        raise InvalidCompetition(faults)
    teams = list(
        act.session.scalars(
            select(Team).where(Team.competition_id == act.competition.id, Team.division == division)
        )
    )
    for team in teams:
        team.division = name
    act.session.flush()
    settings.change(act, changes=changes)
    return len(teams)


def assign_lines(act: Act, text: str) -> int:
    """Set the divisions in lines of CSV, `team,division`; raise OrganizerRefusal with all faults."""
    faults, assignments = [], []
    for number, cells in enumerate(csv.reader(text.splitlines()), 1):
        try:
            name, division = (cell.strip() for cell in cells or ("", ""))
            lookup.require_division(division or None, division_names(act.competition.divisions))
            assignments += [(moderation.find(act, name), division or None)] if cells else []
        except FairboardError as error:
            faults.append(f"Line {number}: {error.message}")
        except ValueError:
            faults.append(f"Line {number} needs a team and its division, separated by a comma.")
    if faults:
        raise OrganizerRefusal("invalid_divisions", ErrorKind.CONFLICT, problems=faults)
    return assign_all(act, assignments)
