"""Invariant I5: leaderboards depend only on submissions, selections and scoring version."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

from grader.models import Score, ScoringVersionState, Split, Submission, SubmissionKind
from grader.receipts.recount import TERMS
from tests.invariants.findings import DOUBLED, WRONG, BoardRead, Findings
from tests.invariants.snapshot import Snapshot


def check_standings(rows: Snapshot, findings: Findings):
    """Check that the standings of every leaderboard in use follow from the scores."""
    written: dict[tuple[int, Split, str], dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in rows.standings:
        board = written[row.scoring_version_id, row.split, row.board]
        text = (
            f"Team {row.team_id} is twice on the {row.split} leaderboard {row.board!r} of version "
            f"{row.scoring_version_id}."
        )
        findings.expect(row.team_id not in board, "I5", DOUBLED, text)
        board[row.team_id] = row.submission_id, row.score_units
    for version_id, split in _boards_in_use(rows):
        competition = rows.competitions[rows.versions[version_id].competition_id]
        named = {rule.key for rule in _rules(competition.boards)}
        strange = {key for at, on, key in written if (at, on) == (version_id, split)} - {"", *named}
        text = f"There are standings of unknown leaderboards of version {version_id}: {sorted(strange)}."
        findings.expect(not strange, "I5", WRONG, text)
        for rule in (MAIN, *_rules(competition.boards)):
            _check_board(rows, version_id, split, rule, written[version_id, split, rule.key], findings)


def _check_board(
    rows: Snapshot,
    version_id: int,
    split: Split,
    rule: "Rule",
    found: dict[int, tuple[int, int]],
    findings: Findings,
):
    expected = dict(_best(rows, version_id, split, rule))
    for team_id in expected.keys() | found.keys():
        text = (
            f"Team {team_id} is on the {split} leaderboard {rule.key!r} of version {version_id} with "
            f"{found.get(team_id)}; expected {expected.get(team_id)}."
        )
        findings.expect(found.get(team_id) == expected.get(team_id), "I5", WRONG, text)


class Rule(NamedTuple):
    """A leaderboard whose value is a Python expression of the score and the terms."""

    key: str
    value: str
    is_lowest: bool
    decimals: int

    def units(self, score: Score) -> int | None:
        """Return the displayed value of a score, where more is better; None if a term is undefined."""
        try:
            value = eval(self.value, {}, {"score": score.score, **score.terms})
        except NameError:
            return None
        shown = Decimal(value).quantize(Decimal(1).scaleb(-self.decimals), ROUND_HALF_EVEN)
        return int(shown.scaleb(self.decimals)) * (-1 if self.is_lowest else 1)


MAIN = Rule("", "score", is_lowest=False, decimals=5)


def _rules(setting: str) -> list[Rule]:
    """Return the named leaderboards of a setting with lower-case names and names of terms."""
    rules = []
    for line in setting.splitlines():
        name, _, value = line.partition(" = ")
        is_term = value.split()[0] in TERMS and len(value.split()) <= 2
        of = value.removesuffix(" lowest").removesuffix(" highest")
        rules.append(Rule(name, of, value.endswith(" lowest"), 4 if is_term else 5))
    return rules


def _boards_in_use(rows: Snapshot) -> Iterator[tuple[int, Split]]:
    for version in rows.versions.values():
        if version.state in (ScoringVersionState.LIVE, ScoringVersionState.PREPARING):
            yield version.id, Split.PUBLIC
        is_settled = rows.competitions[version.competition_id].settled_at is not None
        if is_settled and version.state is ScoringVersionState.LIVE:
            yield version.id, Split.PRIVATE


def _best(rows: Snapshot, version_id: int, split: Split, rule: Rule) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield each team's entry: its best public submission, or the best of its competing ones."""
    competition = rows.competitions[rows.versions[version_id].competition_id]
    teams: dict[int, list[Submission]] = defaultdict(list)
    for (submission_id, scored_version), scores in rows.scores_of.items():
        submission = rows.submissions[submission_id]
        is_disqualified = rows.teams[submission.team_id].disqualified_at is not None
        ranks = submission.kind is SubmissionKind.NORMAL and not is_disqualified
        if scored_version == version_id and ranks and len(scores) == len(Split):
            teams[submission.team_id].append(submission)

    def units(submission: Submission, on: Split, by: Rule) -> int | None:
        return by.units(rows.scores_of[submission.id, version_id][on])

    def order(submission: Submission, on: Split, by: Rule) -> tuple[int, object, int]:
        return -(units(submission, on, by) or 0), submission.submitted_at, submission.id

    for team_id, own in teams.items():
        if split is Split.PRIVATE:
            by_choice = sorted(own, key=lambda each: (not each.is_selected, order(each, Split.PUBLIC, MAIN)))
            own = by_choice[: competition.selection_count]
        entries = [each for each in own if units(each, split, rule) is not None]
        if entries:
            best = min(entries, key=lambda each: order(each, split, rule))
            yield team_id, (best.id, units(best, split, rule) or 0)


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
