"""Sentences of evidence for the entries of a fair play report."""

from collections.abc import Iterator

from grader.fair_play import Sign
from grader.services.fair_play.report import FoundPair, FoundSigns


def of_probing(file: FoundSigns) -> Iterator[str]:
    """Yield a sentence for each sign of probing of a file."""
    if Sign.FEW_MOVED in file.signs:
        yield (
            f"Only {_rows(file.moved or 0)} of {file.rows:,} moved since #{file.nearest_id}. All other rows "
            "keep their order."
        )
    if Sign.CHANCE in file.signs and file.auc is not None:
        yield (
            f"Its overall AUC on the public rows is {file.auc:.2f}, no better than chance. "
            "Rows in the wrong order can also cause this."
        )
    if Sign.LONE_ROWS in file.signs:
        yield (
            f"{file.lone_levels} values occur in only one or two rows each, between values that occur in ten "
            "rows or more. This makes the score depend on single rows."
        )


def of_similarity(pair: FoundPair) -> Iterator[str]:
    """Yield sentences on how similar two files are, and on harmless explanations."""
    if pair.has_same_bytes:
        yield "Both teams submitted the same file."
    elif pair.has_same_order:
        yield "Both files put all rows in the same order, although their values may differ."
    else:
        yield (
            f"On {pair.agreement:.1%} of {_rows(pair.rows)}, both files differ from the other teams' files "
            "in the same way. In a test, 100 models trained independently on the same data reached at most "
            "96 %."
        )
    if pair.distinct < 100:
        yield f"The files have only {pair.distinct} different values. A simple rule can also cause this."
    if pair.known_ids:
        names = ", ".join(f"#{number}" for number in pair.known_ids)
        yield (
            f"The two files are close to {names}, an organizer's file or a benchmark, which explains the "
            "similarity."
        )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
