"""What the commands of a close say, here and over HTTP."""

RECOVERABLE = (
    "From now on late submissions are scored on both splits, and from those scores people can work out\n"
    "the labels of this test set. `fairboard competition change {slug} --no-late` stops them."
)
OPEN_STILL = "The competition is still open and would close; you can verify it after that."
VERIFY_FIRST = "Verify first: `fairboard competition verify {slug}`."
REVEAL_IS_FINAL = "A reveal cannot be undone."
STANDINGS_ARE_FINAL = "Final standings stay readable forever; later changes are stored next to them."
REVEAL_QUESTION = "Reveal {slug} without a verification?"
FINALIZE_QUESTION = "Make the standings of {slug} final without a verification?"
NOTHING_REVEALED, NOTHING_FINAL = "Nothing is revealed.", "Nothing is final."
ANSWER = "{undone} Answer y to do it, or give --yes in a script."


def revealed(slug: str, team_count: int, *, closed_now: bool) -> str:
    """Return what a reveal did."""
    closed = " It was still open and is now closed." if closed_now else ""
    return (
        f"The private leaderboard of {slug} is revealed, with {counted(team_count, 'team')}.{closed} "
        f"It is provisional: `fairboard competition finalize {slug}` makes it final."
    )


def failed(count: int) -> str:
    """Return what became of submissions that nobody could score."""
    return (
        f"{counted(count, 'submission')} failed because of an error on our side and are not ranked; the log "
        "has their incidents."
    )


def final(slug: str, number: int) -> str:
    """Return where the final standings are."""
    return f"The standings of {slug} are final. They are stored as number {number}."


def counted(number: int, word: str) -> str:
    """Return a number with its noun."""
    return f"1 {word}" if number == 1 else f"{number:,} {word}s"
