"""Checks of `make demo CHECK=1`: compare the service's leaderboards with the oracle's."""

from decimal import Decimal

from grader.demo import oracle
from grader.demo.api import Api, Board, Refused
from grader.demo.competition import ORGANIZER, SLUG, Demo, entries
from grader.demo.progress import Progress

TERMS = ("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")
REASON = "200 labels were rated again and 25 rows withdrawn."


def check(demo: Demo, progress: Progress) -> list[str]:
    """Check both leaderboards before and after a rescoring; return every disagreement as a sentence."""
    api = demo.installation.api(progress.tokens[ORGANIZER])
    sent = entries(demo, progress)
    expected = oracle.leaderboards(demo.solution, sent)
    wrong = _compare(demo, api, "public", expected) + _private_is_hidden(api)
    demo.installation.command("competition", "reveal", SLUG, "--yes")
    wrong += _compare(demo, api, "private", expected)
    demo.say("\nRescoring with the corrected solution.")
    demo.installation.command("rescore", SLUG, str(demo.corrected_solution), "--reason", REASON, "--yes")
    expected = oracle.leaderboards(demo.corrected_solution, sent)
    wrong += _compare(demo, api, "public", expected)
    wrong += _compare(demo, api, "private", expected)
    return wrong


def show(demo: Demo, api: Api, split: oracle.Split) -> Board:
    """Print a leaderboard and return it."""
    board = api.leaderboard(SLUG, split)
    demo.say(f"\nThe {split} leaderboard, scoring version {board.scoring_version}:")
    demo.say(f"{'rank':>4}  {'team':12} {'score':>8}  {'overall':>8} {'Subgroup':>8} {'BPSN':>8} {'BNSP':>8}")
    for row in board.rows:
        terms = " ".join(f"{row['terms'][term]:8.4f}" for term in TERMS)
        demo.say(f"{row['rank']:4}  {row['team']:12} {row['score']:8.5f}  {terms}")
    return board


def _compare(
    demo: Demo, api: Api, split: oracle.Split, expected: dict[oracle.Split, list[oracle.Line]]
) -> list[str]:
    board = show(demo, api, split)
    wrong = disagreements(board, expected[split])
    agree = "disagrees with" if wrong else "agrees in every figure and rank with"
    demo.say(f"It {agree} the independent computation.")
    return [
        f"{split.capitalize()} leaderboard, scoring version {board.scoring_version}: {sentence}"
        for sentence in wrong
    ]


def disagreements(board: Board, expected: list[oracle.Line]) -> list[str]:
    """Return every difference between a leaderboard and the lines it should have, to the displayed digit."""
    found = []
    if len(board.rows) != len(expected):
        found.append(f"{len(board.rows)} lines instead of {len(expected)}.")
    for row, line in zip(board.rows, expected, strict=False):
        pairs = {
            "rank": (row["rank"], line.rank),
            "team": (row["team"], line.team),
            "score": (_exact(row["score"]), line.score),
        } | {term: (_exact(row["terms"][term]), getattr(line, term)) for term in TERMS}
        found += [
            f"Rank {line.rank}: {name} is {shown}, and should be {right}."
            for name, (shown, right) in pairs.items()
            if shown != right
        ]
    return found


def _exact(number: float) -> Decimal:
    return Decimal(str(number))


def _private_is_hidden(api: Api) -> list[str]:
    try:
        api.leaderboard(SLUG, "private")
    except Refused:
        return []
    return ["The private leaderboard is shown before the reveal."]
