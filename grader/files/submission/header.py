"""Submission header: delimiter, columns of ids and predictions, or the problem with them."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.files.reading.problems import FileProblem, FileRejected, Findings, Note, foreign
from grader.files.reading.text import INDEX_NAMES, Text, invalid_utf8, is_above_header, split_fields
from grader.files.submission.columns import ONE_NUMBER, SubmissionColumns
from grader.text import listed, quoted

_LONGEST_HEADER = 1 << 14
OTHER_DELIMITERS = (b";", b"\t", b"|")


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of the header, and the byte offset of the first row, which is on line 2.

    `places` are those of the id and of each column of predictions. `other_labels` are the columns named after
    other labels, which are not read.
    """

    names: list[bytes]
    places: tuple[int, ...]
    offset: int
    notes: list[Note]
    other_labels: tuple[str, ...]

    @property
    def is_standard(self) -> bool:
        """Whether rows are the id and the predictions in the expected order."""
        return self.places == tuple(range(len(self.names)))


def read_header(
    text: Text, other_labels: Sequence[str] = (), wanted: SubmissionColumns = ONE_NUMBER
) -> Layout:
    """Find the columns of the id and the predictions; raise FileRejected if the header is wrong.

    Additional columns are allowed if their names are in `other_labels`.
    """
    longest = max(_LONGEST_HEADER, 2 * len(",".join(wanted.names).encode()))
    offset = text.data.find(b"\n", text.start) + 1 or len(text.data)
    line = text.data[text.start : min(offset, text.start + longest)].removesuffix(b"\n")
    findings = Findings()
    if b"\0" in line:
        findings.add("nul_byte", 1, line.partition(b"\0")[0])
    elif not is_above_header(line, 1, findings, f"the header {wanted.header}") and (at := invalid_utf8(line)):
        findings.add("invalid_utf8", 1, at)
    if findings:
        raise FileRejected(*findings.problems())
    fields = split_fields(line) or [line]
    names = wanted.canonical([field.decode("utf-8", "backslashreplace") for field in fields])
    others = [name for name in other_labels if name not in wanted.names]
    distinct = set(names)
    if not {*wanted.names} <= distinct <= {*wanted.names, *others} or len(distinct) != len(names):
        raise FileRejected(_wrong_header(line, names, wanted, others))
    places = tuple(names.index(name) for name in wanted.names)
    unread = tuple(name for name in names if name in others)
    notes = []
    if list(places) != sorted(places):
        notes.append(Note.of("columns_reordered", line=1, names=quoted(",".join(names))))
    if unread:
        shown = listed([quoted(name) for name in unread], most=20)
        notes.append(Note.of("columns_not_read", line=1, count=len(unread), names=shown))
    return Layout(fields, places, offset, notes, unread)


def _wrong_header(
    line: bytes, names: Sequence[str], wanted: SubmissionColumns, others: Sequence[str]
) -> FileProblem:
    """Return the problem of a header with wrong names, and the likely cause."""
    missing = [name for name in wanted.names if name not in names]
    extra = [name for name in dict.fromkeys(names) if name not in wanted.names and name not in others]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    faults = "; ".join(
        f"{kind} column{'s' if len(columns) > 1 else ''} {listed([quoted(name) for name in columns])}"
        for kind, columns in (("missing", missing), ("unexpected", extra), ("repeated", repeated))
        if columns
    )
    advice = ""
    if b"," not in line and any(mark in line for mark in OTHER_DELIMITERS):
        code, faults = "wrong_delimiter", "a delimiter other than ','"
    elif missing and [name.casefold() for name in missing] == [name.casefold() for name in extra]:
        code, advice = "wrong_header", "Case matters."
    elif names[0] in INDEX_NAMES and extra[:1] == [names[0]]:
        code = "index_column"
        keyword = f"index_label='{wanted.id}'" if wanted.id in missing else "index=False"
        advice = f"Use to_csv({keyword})."
    elif len(missing) == len(wanted.names):
        code = "wrong_header"
    else:
        code = f"{'duplicate' if repeated else 'missing' if missing else 'unexpected'}_column"
        if others and extra:
            allowed = listed([quoted(name) for name in others], most=20)
            advice = f"Besides '{wanted.header}', only {allowed} may be present."
    faults += foreign("".join(extra))
    header = f"the header '{wanted.header}'"
    return FileProblem.of(
        code, line, like="wrong_header", lines=[1], faults=faults, header=header, advice=advice
    )
