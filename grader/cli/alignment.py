"""Align columns of text output."""

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]], *, numbers: bool = True) -> list[str]:
    """Return a table's lines with the first column to the left and the others, as `numbers`, to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if numbers and place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
