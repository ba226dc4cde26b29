"""Team display names: aliases in anonymous competitions.

Organizers and the team itself see the name with the alias next to it, and everyone else only the alias.
Members and everything else that can identify a team are hidden together with its name.
"""

from sqlalchemy.orm import InstrumentedAttribute

from grader.models import Competition, Team
from grader.visibility import Viewer


def are_hidden(competition: Competition, viewer: Viewer = Viewer.PUBLIC) -> bool:
    """Return whether a viewer sees aliases; `Viewer.TEAM` stands for the team whose name is shown."""
    return competition.is_anonymous and viewer not in (Viewer.TEAM, Viewer.ORGANIZER)


def column(competition: Competition, viewer: Viewer = Viewer.PUBLIC) -> InstrumentedAttribute[str]:
    """Return the column with the team names that a viewer sees."""
    return Team.alias if are_hidden(competition, viewer) else Team.name


def shown(team: Team, competition: Competition, viewer: Viewer = Viewer.PUBLIC) -> str:
    """Return a team's name as a viewer sees it."""
    return team.alias if are_hidden(competition, viewer) else team.name


def alias(team: Team, competition: Competition) -> str:
    """Return the alias to show next to a team's name, or an empty text."""
    return team.alias if competition.is_anonymous else ""
