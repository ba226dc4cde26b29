"""`make demo CHECK=1`: comparison of the demo's leaderboards with independent ones."""

from decimal import Decimal
from itertools import zip_longest

from grader.client import Client, Refused
from grader.client.records import Leaderboard
from grader.demo import oracle
from grader.demo.oracle import Line
from grader.demo.run import ORGANIZER, SLUG, Demo
from grader.demo.submissions import SUBMISSIONS

REASON = "200 labels were corrected, and 25 rows were withdrawn."


def check(demo: Demo) -> list[str]:
    """Check both leaderboards before and after a rescoring; return a message for each difference."""
    sent = [(file.team, demo.predictions(file)) for file in SUBMISSIONS]
    corrected = demo.folder / "corrected_solution.csv"
    expected = oracle.leaderboards(demo.folder / "solution.csv", sent)
    with demo.client(demo.accounts()[ORGANIZER].token) as client:
        wrong = _compare(demo, client, "public", expected) + _private_is_hidden(client)
        demo.command("competition", "reveal", SLUG, "--yes")
        wrong += _compare(demo, client, "private", expected)
        demo.say("\nRescoring with the corrected solution.")
        demo.command("rescore", SLUG, str(corrected), "--reason", REASON, "--yes")
        expected = oracle.leaderboards(corrected, sent)
        wrong += _compare(demo, client, "public", expected)
        wrong += _compare(demo, client, "private", expected)
    return wrong


def _compare(
    demo: Demo, client: Client, split: oracle.Split, expected: dict[oracle.Split, list[Line]]
) -> list[str]:
    """Print a leaderboard and return its differences from the independent computation."""
    board = client.leaderboard(split=split)
    title = f"{split} leaderboard, scoring version {board.scoring_version}"
    demo.say(f"\nThe {title}:\n{'rank':>4}  {'team':9} {'score':>8}  overall subgroup     BPSN     BNSP")
    for line in shown(board):
        demo.say(f"{line.rank:4}  {line.team:9} {line.score:8} " + " ".join(f"{each:8}" for each in line[3:]))
    wrong = disagreements(board, expected[split])
    verb = "does not match" if wrong else "matches"
    demo.say(f"It {verb} the independent computation in every number and rank.")
    return [f"{title.capitalize()}: {sentence}" for sentence in wrong]


def shown(board: Leaderboard) -> list[Line]:
    """Return the teams' rows of a leaderboard, without benchmarks."""
    rows = [(each, each.terms or {}) for each in board.rows if each.rank is not None]
    return [
        Line(each.rank or 0, each.team, *(Decimal(str(value)) for value in (each.score, *terms.values())))
        for each, terms in rows
    ]


def disagreements(board: Leaderboard, expected: list[Line]) -> list[str]:
    """Return all differences between a leaderboard and its expected rows, as displayed."""
    pairs = zip_longest(shown(board), expected)
    return [f"{found} should be {right}." for found, right in pairs if found != right]


def _private_is_hidden(client: Client) -> list[str]:
    try:
        client.leaderboard(split="private")
    except Refused:
        return []
    return ["The private leaderboard is shown before the reveal."]
