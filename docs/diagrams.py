"""Generate the diagrams in docs/images: `python docs/diagrams.py`."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

IMAGES = Path(__file__).parent / "images"
LINE = 18  # distance between two lines of text

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #23282d; }
  .strong { font-weight: 600; }
  .muted { fill: #5b6369; font-size: 12px; }
  .box { fill: #f4f1eb; stroke: #8b8f8f; }
  .ours { fill: #e4f0f0; stroke: #0b5563; }
  .line { fill: none; stroke: #5b6369; stroke-width: 1.25; }
  .dashed { stroke-dasharray: 5 4; }
  .head { fill: #5b6369; }
  .dot { fill: #c8571b; }
  .paper { fill: #fff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #d8d9d6; }
    .muted { fill: #9aa3a6; }
    .box { fill: #1b2123; stroke: #6f787b; }
    .ours { fill: #18323a; stroke: #7fc9d6; }
    .line { stroke: #9aa3a6; }
    .head { fill: #9aa3a6; }
    .dot { fill: #f0955c; }
    .paper { fill: #14181a; }
  }
"""


class Phase(NamedTuple):
    """A phase of a competition: its name on the pages, its start, and what happens in it."""

    name: str
    start: str
    lines: Sequence[str]


class Box(NamedTuple):
    """A process or a store in the process diagram, at a column and a row of its grid."""

    column: float
    row: float
    name: str
    lines: Sequence[str] = ()
    is_ours: bool = False


class Message(NamedTuple):
    """An arrow between two lifelines of the sequence diagram."""

    sender: str
    receiver: str
    text: str
    is_dashed: bool = False


PHASES = (
    Phase("Draft", "Create", ("Hidden from", "participants.")),
    Phase("Scheduled", "Publish", ("Visitors read", "the pages.")),
    Phase("Open", "Opens", ("Teams submit, merge", "and select files.", "Public leaderboard.")),
    Phase("Closed", "Closes", ("The last files are", "scored.")),
    Phase("Revealed", "Reveal", ("Everyone sees the", "private leaderboard.", "Results bundle.")),
)
DEADLINES = "Entry and merger deadlines: 7 days before the close"
PHASE_WIDTHS = (106, 104, 226, 148, 154)

PROCESSES = {
    "client": Box(0, 0.5, "Browser, client", ("HTTPS",)),
    "web": Box(1, 0.5, "Web processes", ("gunicorn:", "pages and API"), is_ours=True),
    "stores": Box(2, 0, "Database, blobs", ("SQLite, PostgreSQL;", "folder, S3")),
    "queue": Box(2, 1, "Queue", ("Valkey: hints only",)),
    "sweeper": Box(3, 0, "Sweeper", ("lost jobs, checks,", "rescorings, backups"), is_ours=True),
    "worker": Box(3, 1, "Worker", ("Celery: new files",), is_ours=True),
    "outside": Box(4, 0, "Other servers", ("mail server,", "backup target")),
    "child": Box(4, 1, "Child processes", ("one file at a time,", "limited resources"), is_ours=True),
}
FLOWS = (
    ("client", "web"),
    ("web", "stores"),
    ("web", "queue"),
    ("queue", "worker"),
    ("worker", "stores"),
    ("worker", "child"),
    ("sweeper", "stores"),
    ("sweeper", "outside"),
)
LIFELINES = ("Client", "Web process", "Blob storage", "Database", "Queue", "Worker", "Child process")
UPLOAD = (
    Message("Client", "Web process", "full request"),
    Message("Web process", "Blob storage", "store the file"),
    Message("Web process", "Database", "lock, check limits, add the job"),
    Message("Web process", "Queue", "hint after the commit", is_dashed=True),
    Message("Web process", "Client", "201"),
    Message("Queue", "Worker", "hint", is_dashed=True),
    Message("Worker", "Database", "claim the job under a lease"),
    Message("Worker", "Child process", "file, solution"),
    Message("Child process", "Worker", "result"),
    Message("Worker", "Database", "record, if the token is still valid"),
    Message("Database", "Web process", "new score"),
    Message("Web process", "Client", "result"),
)


def timeline() -> str:
    """Return the phases of a competition as bars, with their starts and deadlines."""
    parts, x = [], 10
    for phase, width in zip(PHASES, PHASE_WIDTHS, strict=True):
        kind = "ours" if phase.name == "Open" else "box"
        parts += [
            _text(x, 16, phase.start, "muted"),
            f'<circle class="dot" cx="{x + 4}" cy="34" r="4"/>',
            f'<rect class="{kind}" x="{x}" y="44" width="{width - 6}" height="30" rx="4"/>',
            _text(x + 8, 64, phase.name, "strong"),
            *(_text(x + 2, 96 + LINE * place, line) for place, line in enumerate(phase.lines)),
        ]
        if phase.name == "Open":
            end = x + width - 6
            parts += [
                f'<path class="line dashed" d="M{end - 60} 44v118"/>',
                _text(end - 60, 178, DEADLINES, "muted", anchor="middle"),
            ]
        x += width
    parts.append(f'<path class="line" d="M10 34H{x - 6}"/>')
    return _svg(x + 4, 190, "The phases of a competition", [parts.pop(), *parts])


def processes() -> str:
    """Return the processes and stores of a site, and the connections between them."""
    arrows = [_arrow(PROCESSES[start], PROCESSES[end]) for start, end in FLOWS]
    boxes = [part for box in PROCESSES.values() for part in _box(box)]
    return _svg(856, 190, "The processes of a site", [*arrows, *boxes])


def upload() -> str:
    """Return the sequence of messages from an upload to its result."""
    place = {name: 62 + 120 * number for number, name in enumerate(LIFELINES)}
    end = 62 + 32 * len(UPLOAD)
    parts = []
    for name, x in place.items():
        parts += [
            f'<path class="line dashed" d="M{x} 40V{end}"/>',
            f'<rect class="box" x="{x - 54}" y="8" width="108" height="30" rx="4"/>',
            _text(x, 28, name, "strong", anchor="middle"),
        ]
    for number, message in enumerate(UPLOAD, start=1):
        start, stop, y = place[message.sender], place[message.receiver], 40 + 32 * number
        sign = 1 if stop > start else -1
        kind = "line dashed" if message.is_dashed else "line"
        left = min(start, stop) + 8
        words = f"{number}. {message.text}"
        parts += [
            f'<rect class="paper" x="{left}" y="{y - 18}" width="{6 * len(words)}" height="14"/>',
            _text(left, y - 6, words),
            f'<path class="{kind}" d="M{start} {y}H{stop - 7 * sign}"/>',
            f'<path class="head" d="M{stop} {y}l{-9 * sign} -5v10z"/>',
        ]
    return _svg(844, end + 8, "The sequence of an upload", parts)


WIDTH, HEIGHT, ACROSS, DOWN = 146, 74, 172, 100


def _box(box: Box) -> Iterator[str]:
    x, y = _corner(box)
    yield (
        f'<rect class="{"ours" if box.is_ours else "box"}" x="{x:g}" y="{y:g}" width="{WIDTH}"'
        f' height="{HEIGHT}" rx="6"/>'
    )
    yield _text(x + 10, y + 23, box.name, "strong")
    yield from (_text(x + 10, y + 43 + LINE * place, line, "muted") for place, line in enumerate(box.lines))


def _corner(box: Box) -> tuple[float, float]:
    return 10 + ACROSS * box.column, 8 + DOWN * box.row


def _arrow(start: Box, end: Box) -> str:
    """Return an arrow between the facing sides of two boxes in different columns."""
    sign = 1 if end.column > start.column else -1
    (x1, y1), (x2, y2) = _corner(start), _corner(end)
    x1, x2 = (x1 + WIDTH, x2) if sign > 0 else (x1, x2 + WIDTH)
    # Arrows to one box end at different heights, in the order of the boxes from which they come.
    y1, y2 = (
        y1 + HEIGHT / 2 + 14 * (end.row - start.row),
        y2 + HEIGHT / 2 + max(-24, min(24, 24 * (start.row - end.row))),
    )
    bend = x1 + sign * (ACROSS - WIDTH) / 2
    return (
        f'<path class="line" d="M{x1:g} {y1:g}H{bend:g}L{x2 - 7 * sign:g} {y2:g}"/>'
        f'<path class="head" d="M{x2:g} {y2:g}l{-9 * sign} -5v10z"/>'
    )


def _text(x: float, y: float, words: str, kind: str = "", *, anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    placed = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text{named} x="{x:g}" y="{y:g}"{placed}>{escape(words, quote=False)}</text>'


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
            f' height="{height}" role="img" aria-label="{title}">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


DIAGRAMS = {"timeline.svg": timeline(), "processes.svg": processes(), "upload.svg": upload()}

if __name__ == "__main__":
    for name, content in DIAGRAMS.items():
        (IMAGES / name).write_text(content)
