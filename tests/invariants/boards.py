"""Invariant I5: leaderboards depend only on submissions, selections and scoring version."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal

from grader.models import ScoringVersionState, Split, Submission, SubmissionKind
from tests.invariants.findings import DOUBLED, WRONG, BoardRead, Findings
from tests.invariants.snapshot import Snapshot


def check_standings(rows: Snapshot, findings: Findings):
    """Check that the standings of every leaderboard in use follow from the scores."""
    written: dict[tuple[int, Split], dict[int, tuple[int, str]]] = defaultdict(dict)
    for row in rows.standings:
        board = written[row.scoring_version_id, row.split]
        text = (
            f"Team {row.team_id} is twice on the {row.split} leaderboard of version {row.scoring_version_id}."
        )
        findings.expect(row.team_id not in board, "I5", DOUBLED, text)
        board[row.team_id] = row.submission_id, f"{Decimal(row.score_units).scaleb(-5):.5f}"
    for version_id, split in _boards_in_use(rows):
        expected, found = dict(_best(rows, version_id, split)), written[version_id, split]
        for team_id in expected.keys() | found.keys():
            text = (
                f"Team {team_id} is on the {split} leaderboard of version {version_id} with "
                f"{found.get(team_id)}; expected {expected.get(team_id)}."
            )
            findings.expect(found.get(team_id) == expected.get(team_id), "I5", WRONG, text)


def _boards_in_use(rows: Snapshot) -> Iterator[tuple[int, Split]]:
    for version in rows.versions.values():
        if version.state in (ScoringVersionState.LIVE, ScoringVersionState.PREPARING):
            yield version.id, Split.PUBLIC
        is_settled = rows.competitions[version.competition_id].settled_at is not None
        if is_settled and version.state is ScoringVersionState.LIVE:
            yield version.id, Split.PRIVATE


def _best(rows: Snapshot, version_id: int, split: Split) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield each team's entry: its best public submission, or the better of its competing ones."""
    competition = rows.competitions[rows.versions[version_id].competition_id]
    teams: dict[int, list[Submission]] = defaultdict(list)
    for (submission_id, scored_version), scores in rows.scores_of.items():
        submission = rows.submissions[submission_id]
        is_disqualified = rows.teams[submission.team_id].disqualified_at is not None
        ranks = submission.kind is SubmissionKind.NORMAL and not is_disqualified
        if scored_version == version_id and ranks and len(scores) == len(Split):
            teams[submission.team_id].append(submission)
    for team_id, own in teams.items():

        def order(submission: Submission, on: Split = Split.PUBLIC) -> tuple[Decimal, object, int]:
            return (
                -Decimal(rows.shown(submission, version_id, on)),
                submission.submitted_at,
                submission.id,
            )

        if split is Split.PUBLIC:
            best = min(own, key=order)
        else:
            by_choice = sorted(own, key=lambda each: (not each.is_selected, order(each)))
            best = min(by_choice[: competition.selection_count], key=lambda each: order(each, split))
        yield team_id, (best.id, rows.shown(best, version_id, split))


def check_reads(rows: Snapshot, reads: Sequence[BoardRead], findings: Findings):
    """Check that every displayed row is a team's score under the page's scoring version."""
    numbers = {
        (rows.competitions[version.competition_id].slug, version.number): version.id
        for version in rows.versions.values()
    }
    has: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for submission_id, version_id in rows.scores_of:
        submission = rows.submissions[submission_id]
        team = rows.teams[submission.team_id].name
        if Split.PUBLIC in rows.scores_of[submission_id, version_id]:
            has[version_id].add((team, rows.shown(submission, version_id, Split.PUBLIC)))
    for read in reads:
        name = f"A page of the leaderboard of {read.competition}, version {read.scoring_version},"
        version_id = numbers.get((read.competition, read.scoring_version))
        strange = [line for line in read.lines if (line.team, line.score) not in has[version_id or 0]]
        text = f"{name} has rows that do not follow from that version, such as {strange[:1]}."
        findings.expect(not strange, "I5", WRONG, text)
        ranks = [line.rank for line in read.lines]
        in_order = sorted(read.lines, key=lambda line: -Decimal(line.score))
        is_ranked = ranks == list(range(1, len(ranks) + 1)) if ranks[:1] == [1] else ranks == sorted(ranks)
        is_total = is_ranked and len({line.team for line in read.lines}) == len(read.lines)
        text = f"{name} is not in ranking order: {ranks[:5]}…"
        findings.expect(is_total and in_order == list(read.lines), "I5", WRONG, text)
