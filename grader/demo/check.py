"""`make demo CHECK=1`: comparison of the demo's leaderboards with independent ones."""

from decimal import Decimal

from grader.client import Client, Refused
from grader.client.records import Leaderboard
from grader.demo import oracle
from grader.demo.competition import ORGANIZER, Demo, DemoProgress, entries
from grader.demo.service import SLUG

TERMS = ("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")
REASON = "200 labels were corrected, and 25 rows were withdrawn."


def check(demo: Demo, progress: DemoProgress) -> list[str]:
    """Check both leaderboards before and after a rescoring; return a message for each difference."""
    sent = entries(demo, progress)
    expected = oracle.leaderboards(demo.solution, sent)
    with demo.installation.client(progress.tokens[ORGANIZER]) as client:
        wrong = _compare(demo, client, "public", expected) + _private_is_hidden(client)
        demo.installation.command("competition", "reveal", SLUG, "--yes")
        wrong += _compare(demo, client, "private", expected)
        demo.say("\nRescoring with the corrected solution.")
        demo.installation.command("rescore", SLUG, str(demo.corrected_solution), "--reason", REASON, "--yes")
        expected = oracle.leaderboards(demo.corrected_solution, sent)
        wrong += _compare(demo, client, "public", expected)
        wrong += _compare(demo, client, "private", expected)
    return wrong


def _compare(
    demo: Demo, client: Client, split: oracle.Split, expected: dict[oracle.Split, list[oracle.Line]]
) -> list[str]:
    """Print a leaderboard and return its differences from the independent computation."""
    board = client.leaderboard(split=split)
    title = f"{split} leaderboard, scoring version {board.scoring_version}"
    demo.say(f"\nThe {title}:")
    demo.say(f"{'rank':>4}  {'team':12} {'score':>8}  {'overall':>8} {'Subgroup':>8} {'BPSN':>8} {'BNSP':>8}")
    for row in board.rows:
        terms = " ".join(f"{(row.terms or {})[term]:8.4f}" for term in TERMS)
        demo.say(f"{row.rank:4}  {row.team:12} {row.score:8.5f}  {terms}")
    wrong = disagreements(board, expected[split])
    verb = "does not match" if wrong else "matches"
    demo.say(f"It {verb} the independent computation in every number and rank.")
    return [f"{title.capitalize()}: {sentence}" for sentence in wrong]


def disagreements(board: Leaderboard, expected: list[oracle.Line]) -> list[str]:
    """Return all differences between a leaderboard and its expected rows, as displayed."""
    differences = []
    if len(board.rows) != len(expected):
        differences.append(f"{len(board.rows)} rows instead of {len(expected)}.")
    for row, line in zip(board.rows, expected, strict=False):
        terms = row.terms or {}
        pairs = {
            "rank": (row.rank, line.rank),
            "team": (row.team, line.team),
            "score": (_exact(row.score), line.score),
        } | {term: (_exact(terms[term]), getattr(line, term)) for term in TERMS}
        differences += [
            f"Rank {line.rank}: {name} is {shown}, but should be {right}."
            for name, (shown, right) in pairs.items()
            if shown != right
        ]
    return differences


def _exact(number: float) -> Decimal:
    return Decimal(str(number))


def _private_is_hidden(client: Client) -> list[str]:
    try:
        client.leaderboard(split="private")
    except Refused:
        return []
    return ["The private leaderboard is shown before the reveal."]
