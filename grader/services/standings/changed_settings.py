"""Changes of settings that affect standings."""

from collections.abc import Mapping
from typing import Any

from grader.services.competitions import boards, settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.standings import rows


def change(act: Act, *, changes: Mapping[str, Any], reason: str = "") -> frozenset[str]:
    """Change settings and return the names of the changed ones; the competition must be locked.

    If the named leaderboards change, their standings are rewritten. Raises InvalidCompetition, or
    BoardsNeedValues for a scoring version in preparation.
    """
    changed = settings.change(act, changes=changes, reason=reason)
    if "boards" in changed:
        for version in rows.in_use(act.session, competition=act.competition):
            boards.require(act.competition, Rules.of(version))
        rows.rebuild(act.session, competition=act.competition)
    return changed
