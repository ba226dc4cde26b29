"""Read a submission for the second implementation."""

from collections.abc import Collection, Iterator

from grader.receipts.reading import UnreadableFile, finite_number, shown, text_of

_BLANKS = " \t"
_LARGEST_EXACT_INTEGER = 2**53


def read_predictions(data: bytes, row_ids: Collection[str]) -> dict[str, float]:
    """Return the prediction for each row id; raise UnreadableFile at the first thing that is wrong.

    Columns beside id and prediction are passed over: whoever scored the file knew which ones may stand there.
    `row_ids` should answer quickly whether it contains an id.
    """
    text = text_of(data).rstrip(" \t\r\n")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    header = _fields(lines[0], 1)
    if header.count("id") != 1 or header.count("prediction") != 1:
        raise UnreadableFile(f"Line 1 of the submission is {shown(lines[0])}; expected id,prediction.")
    id_column, prediction_column = header.index("id"), header.index("prediction")
    predictions: dict[str, float] = {}
    for number, fields in _rows(lines, len(header)):
        row_id, value = _known(fields[id_column], row_ids, number), fields[prediction_column]
        prediction = finite_number(value)
        if prediction is None:
            raise UnreadableFile(f"Line {number:,} of the submission: {shown(value)} is no finite number.")
        if row_id in predictions:
            raise UnreadableFile(f"Line {number:,} of the submission repeats the id {shown(row_id)}.")
        predictions[row_id] = prediction
    if missing := len(row_ids) - len(predictions):
        raise UnreadableFile(f"The submission lacks {missing:,} of {len(row_ids):,} ids.")
    return predictions


def _rows(lines: list[str], width: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines[1:], start=2):
        fields = _fields(line, number)
        if len(fields) != width:
            raise UnreadableFile(
                f"Line {number:,} of the submission has {len(fields)} fields; expected {width}."
            )
        yield number, fields


def _known(row_id: str, row_ids: Collection[str], number: int) -> str:
    if row_id in row_ids:
        return row_id
    whole, point, rest = row_id.partition(".")  # spreadsheets write 7 as 7.0
    is_integral = point and not rest.strip("0") and whole.isascii() and whole.isdigit() and len(whole) <= 16
    if is_integral and int(whole) < _LARGEST_EXACT_INTEGER and whole in row_ids:
        return whole
    raise UnreadableFile(f"Line {number:,} of the submission: the id {shown(row_id)} is not in the solution.")


def _fields(line: str, number: int) -> list[str]:
    """Split a line of CSV; quotes enclose whole fields and are doubled inside."""
    if '"' not in line:
        return [field.strip(_BLANKS) for field in line.split(",")]
    fields, rest = [], line
    while True:
        field, rest, ends = _next_field(rest, number)
        fields.append(field.strip(_BLANKS))
        if ends:
            return fields


def _next_field(text: str, number: int) -> tuple[str, str, bool]:
    """Return the first field, what follows its comma, and whether it was the last."""
    bare = text.lstrip(_BLANKS)
    if not bare.startswith('"'):
        field, comma, rest = text.partition(",")
        if '"' in field:
            raise UnreadableFile(f"Line {number:,} of the submission has a stray quote.")
        return field, rest, not comma
    at, pieces = 1, []
    while True:
        end = bare.find('"', at)
        if end < 0:
            raise UnreadableFile(f"Line {number:,} of the submission has a quote that is not closed.")
        pieces.append(bare[at:end])
        if bare[end + 1 : end + 2] != '"':
            break
        pieces.append('"')
        at = end + 2
    rest = bare[end + 1 :].lstrip(_BLANKS)
    if rest and not rest.startswith(","):
        raise UnreadableFile(f"Line {number:,} of the submission has a stray quote.")
    return "".join(pieces), rest[1:], not rest
