"""Divisions of teams: choice by leaders, assignment by organizers."""

import csv
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, FairboardError, OrganizerError, SeveralProblems
from grader.models import Competition, DivisionChoice, Team, User
from grader.services.audit import log
from grader.services.competitions.acting import Act
from grader.services.competitions.lookup import UnknownDivision
from grader.services.competitions.settings_model import division_names, divisions_of
from grader.services.standings import final_standings
from grader.services.teams import moderation, rosters
from grader.services.teams.rosters import TeamRefusal


class DivisionFixed(TeamRefusal):
    """The team cannot choose its division, or not any longer."""

    public_name = "division_fixed"
    kind = ErrorKind.FORBIDDEN
    message = "Only the organizers can change your team's division."


class NotInDivision(TeamRefusal):
    """The division is restricted to a group to which the leader does not belong."""

    public_name = "not_in_division"
    kind = ErrorKind.FORBIDDEN
    message = "Only leaders who belong to the group of the division {name!r} can choose it."


class InvalidDivisions(SeveralProblems, OrganizerError):
    """Some lines of a list of teams and divisions are invalid."""

    public_name = "invalid_divisions"


def can_choose(competition: Competition, now: datetime) -> bool:
    """Return whether leaders can choose the divisions of their teams now."""
    ends = [end for end in (competition.division_deadline, competition.closes_at) if end]
    is_open = competition.revealed_at is None and all(now < end for end in ends)
    return is_open and competition.division_choice is DivisionChoice.TEAM and bool(competition.divisions)


def choices(session: Session, *, competition: Competition, user: User) -> list[str]:
    """Return the divisions that a leader can choose: those without a group or with the leader's."""
    claimed = rosters.claimed_divisions(session, competition=competition, user=user)
    names = (
        each.name for each in divisions_of(competition.divisions) if not each.group or each.name in claimed
    )
    return list(dict.fromkeys(names))


def choose(act: Act, *, division: str) -> Team:
    """Choose the division of the team that the person leads.

    Raises NotInTeam, NotLeader, DivisionFixed, UnknownDivision or NotInDivision.
    """
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    if not can_choose(act.competition, act.now):
        raise DivisionFixed
    is_allowed = division in choices(act.session, competition=act.competition, user=act.user)
    if division in division_names(act.competition.divisions) and not is_allowed:
        raise NotInDivision(name=division)
    assign(act, team, division)
    return team


def assign(act: Act, team: Team, division: str | None) -> bool:
    """Set the division of a team, None for no division; return whether it changed. Raise UnknownDivision."""
    names, before = division_names(act.competition.divisions), team.division
    if division is not None and division not in names:
        raise UnknownDivision(division, names)
    if before == division:
        return False
    team.division = division
    act.record(
        "team.divide",
        f"team {log.mention(team)}",
        before={"division": before},
        after={"division": division},
    )
    return True


def assign_all(act: Act, divisions: Iterable[tuple[Team, str | None]]) -> int:
    """Set the divisions of teams for an organizer; return the number of changed teams.

    If the standings are final, new final standings with these divisions are appended.
    """
    count = sum([assign(act, team, division) for team, division in divisions])
    if count:
        final_standings.append_if_final(
            act.session, competition=act.competition, reason="Divisions of teams changed.", now=act.now
        )
    return count


def assign_lines(act: Act, text: str) -> int:
    """Set the divisions in lines of CSV, `team,division`; raise InvalidDivisions with all faults."""
    faults, found = [], []
    names = division_names(act.competition.divisions)
    for number, cells in enumerate(csv.reader(text.splitlines()), 1):
        try:
            name, division = (cell.strip() for cell in cells)
            if division and division not in names:
                raise UnknownDivision(division, names)
            found.append((moderation.find(act, name), division or None))
        except FairboardError as error:
            faults.append(f"Line {number}: {error.message}")
        except ValueError:
            if any(cells):
                faults.append(f"Line {number} needs a team and its division, separated by a comma.")
    if faults:
        raise InvalidDivisions(faults)
    return assign_all(act, found)
