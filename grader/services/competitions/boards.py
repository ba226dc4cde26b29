"""Named leaderboards of a competition under a scoring version: scales and visibility."""

from collections.abc import Collection, Iterable

from fairboard.interface import Direction
from grader.errors import ErrorKind, OrganizerRefusal, Refusal
from grader.metrics import boards
from grader.metrics.boards import SCORE, BoardRule
from grader.models import MAIN_BOARD, Competition, ScoringVersion, Split
from grader.ranking.order import Scale
from grader.services.competitions.metric import Rules
from grader.visibility import Field


def of(competition: Competition, version: ScoringVersion) -> tuple[BoardRule, ...]:
    """Return the named leaderboards of a competition under a scoring version."""
    return rules(competition.boards, version)


def rules(text: str, version: ScoringVersion) -> tuple[BoardRule, ...]:
    """Return the named leaderboards that the setting defines under a scoring version."""
    return tuple(_parsed(text, Rules.of(version))[0]) if text else ()


def faults(text: str, metric: Rules) -> list[str]:
    """Return a sentence for each invalid line of the setting."""
    return _parsed(text, metric)[1]


def require(competition: Competition, metric: Rules) -> None:
    """Raise OrganizerRefusal if the metric lacks a value that a named leaderboard needs."""
    if lacking := faults(competition.boards, metric):
        problems = [*lacking, "Change the setting or the metric."]
        raise OrganizerRefusal("boards_need_values", ErrorKind.CONFLICT, problems=problems)


def find(named: Iterable[BoardRule], key: str) -> BoardRule | None:
    """Return the leaderboard with this key, or None for the main one; raise Refusal."""
    if key == MAIN_BOARD:
        return None
    rule = next((each for each in named if each.key == key), None)
    if rule is None:
        message = f"There is no leaderboard {key!r} in this competition."
        raise Refusal("unknown_board", ErrorKind.NOT_FOUND, message)
    return rule


def is_visible(rule: BoardRule, split: Split, seen: Collection[Field]) -> bool:
    """Return whether a viewer who sees these fields may see the leaderboard."""
    score = Field.PUBLIC_EXACT if split is Split.PUBLIC else Field.PRIVATE_SCORE
    terms, groups, rank = (Field(f"{split}_{name}") for name in ("terms", "identities", "rank"))
    needed = (terms if each.is_term else score if each.name == SCORE else groups for _, each in rule.parts)
    return {rank, *needed} <= set(seen)


def scale(rule: BoardRule) -> Scale:
    """Return the scale of the leaderboard's values."""
    return Scale(rule.decimals, rule.direction is Direction.LOWEST)


def _parsed(text: str, metric: Rules) -> tuple[list[BoardRule], list[str]]:
    return boards.parse(text, metric.about, has_groups=bool(metric.as_settings().get("groups")))
