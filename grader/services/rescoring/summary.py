"""The one or two sentences on a rescoring that are confirmed before it is published."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from grader.ranking.comparison import BoardChange, TeamChange
from grader.ranking.order import score_text
from grader.services.rescoring.difference import Preview
from grader.text import counted


@dataclass(frozen=True, slots=True)
class Summary:
    """What a publication changes, and a digest of it: another digest is another difference.

    The digest names the two versions, every team that moves with its ranks, who leads, and the largest change
    of a score; a new file that changes none of it leaves it as it was.
    """

    sentences: tuple[str, ...]
    digest: str

    @classmethod
    def of(cls, found: Preview) -> "Summary":
        """Sum up a difference."""
        return cls(tuple(_sentences(found)), hashlib.sha256(repr(_parts(found)).encode()).hexdigest())

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences)


def _sentences(found: Preview) -> Iterator[str]:
    difference = found.difference
    public, private = difference.public, difference.private
    is_same = difference.scored_before == difference.scored_after and not difference.changed
    if is_same and not (public.moved or private.moved or difference.selections):
        yield "Nothing changes: every submission keeps its displayed scores, and every team its rank."
        return
    if public.moved or private.moved:
        moves = f"{_moving(public)} on the public leaderboard and {_moving(private)} on the private one"
    else:
        moves = "No team moves on either leaderboard"
    leaders = [*_leaders(found, public, "public"), *_leaders(found, private, "private")]
    yield f"{moves}; {'; '.join(leaders) or 'first place stays the same on both'}."
    yield _scores(found)
    if difference.selections:
        competes = "competes" if len(difference.selections) == 1 else "compete"
        yield f"{counted(len(difference.selections), 'team')} {competes} with different submissions."


def _moving(board: BoardChange) -> str:
    moved = len(board.moved)
    return f"{moved:,} of {counted(len(board.teams), 'team')} {'moves' if moved == 1 else 'move'}"


def _leaders(found: Preview, board: BoardChange, name: str) -> Iterator[str]:
    before, after = _leader(board, "before"), _leader(board, "after")
    if before != after:
        old = found.teams[before] if before is not None else "nobody"
        new = found.teams[after] if after is not None else "nobody"
        yield f"first place of the {name} one goes from {old} to {new}"


def _leader(board: BoardChange, side: str) -> int | None:
    lines = ((team, getattr(team, side)) for team in board.teams)
    return next((team.team_id for team, line in lines if line is not None and line.rank == 1), None)


def _scores(found: Preview) -> str:
    difference = found.difference
    more = difference.scored_after - difference.scored_before
    if more:
        verb = "has" if abs(more) == 1 else "have"
        gained = (
            f" {counted(abs(more), 'submission')} {verb} a score only {'after' if more > 0 else 'before'} it."
        )
    else:
        gained = ""
    if not difference.changed:
        return f"No displayed score changes.{gained}"
    verb = "gets" if difference.changed == 1 else "get"
    return (
        f"{difference.changed:,} of {counted(difference.scored_after, 'submission')} {verb} a different "
        f"displayed score; the largest change is {score_text(_largest(found))}.{gained}"
    )


def _largest(found: Preview) -> int:
    pairs = found.difference.largest[:1]
    return max(
        (abs(change or 0) for pair in pairs for change in (pair.public_change, pair.private_change)),
        default=0,
    )


def _parts(found: Preview) -> list[object]:
    difference = found.difference
    boards = (difference.public, difference.private)
    return [
        [version.id for version in found.versions],
        [[_place(team) for team in board.moved] for board in boards],
        [(_leader(board, "before"), _leader(board, "after")) for board in boards],
        [(each.team_id, each.entering, each.leaving) for each in difference.selections],
        _largest(found),
        found.gaps.lost,
    ]


def _place(team: TeamChange) -> tuple[int, int | None, int | None]:
    before = team.before.rank if team.before else None
    return team.team_id, before, team.after.rank if team.after else None
