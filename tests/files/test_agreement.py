"""Agreement between readers: fast path, explaining path, and csv with Decimal."""

import csv
import io
import itertools
import math
import re
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from grader.files import FileRejected, RowIds, read_submission
from grader.files.reading.numbers import NUMBER, NUMBER_BYTES
from grader.files.reading.text import text_of
from grader.files.submission.explaining_path import RowReader
from grader.files.submission.header import read_header
from grader.files.submission.submission import read_proven
from tests.fixtures.examples import examples

pytestmark = pytest.mark.usefixtures("each_reader")

INTEGERS = [str(7_000_000 + place) for place in range(6)]
TEXTS = ["q-17 a", "ä/ö", "e5", "日本語", "a long id that takes more than one word", "-"]
GENEROUS_NUMBER = r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?"
NUMBER_TEXT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read_plainly(data, ids):
    """Read a submission with csv and Decimal; return None if it must be rejected."""
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        return None
    text = re.sub("\r\n|\r", "\n", text).rstrip(" \t\n")
    try:
        rows = list(csv.reader(io.StringIO(text + "\n", newline=""), strict=True))
    except csv.Error:
        return None
    if "\0" in text or any(len(row) != 2 or "\n" in "".join(row) for row in rows):
        return None
    header, *body = [[field.strip(" \t") for field in row] for row in rows]
    if sorted(header) != ["id", "prediction"]:
        return None
    found: dict[str, float] = {}
    for row in body:
        name, value = row if header[0] == "id" else row[::-1]
        if name not in ids and re.fullmatch(r"[0-9]+\.0*", name, re.ASCII):
            name = name.partition(".")[0]
        if name in found or name not in ids or not NUMBER_TEXT.fullmatch(value) or len(value) > 512:
            return None
        found[name] = rounded(value)
    if len(found) != len(ids) or not all(map(math.isfinite, found.values())):
        return None
    return [found[name] for name in ids]


def rounded(value):
    if abs(Decimal(value).adjusted()) > 400:
        # The result is zero or infinity; as a fraction, the number would be too large.
        return float(Decimal(value))
    try:
        magnitude = float(Fraction(abs(Decimal(value))))
    except OverflowError:
        return math.inf
    return math.copysign(magnitude, Decimal(value))


@st.composite
def numbers(draw):
    return draw(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.floats(0, 1).map(repr),
            st.decimals(allow_nan=False, allow_infinity=False, places=25).map(str),
            st.from_regex(GENEROUS_NUMBER, fullmatch=True),
            st.text("0123456789eE+-._ nai%", max_size=6),
        )
    )


@st.composite
def files(draw):
    """Generate an almost correct file; return its ids, and its bytes with a few errors."""
    ids = draw(st.sampled_from([INTEGERS, TEXTS, ["1"], ["5", "05", "5.5"]]))
    order = draw(st.permutations(ids)) if draw(st.booleans()) else list(ids)
    if draw(st.integers(0, 5)) == 0:
        order = [*order[1:], draw(st.sampled_from([*ids, "x", "7000000.0", ""]))]
    good = st.floats(0, 1).map(repr)
    values = [draw(numbers() if draw(st.integers(0, 5)) == 0 else good) for _ in order]
    wrap = draw(st.sampled_from(["{}", "{}", '"{}"', " {}\t"]))
    rows = [f"{wrap.format(name)},{wrap.format(value)}" for name, value in zip(order, values, strict=True)]
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    data = end.join(["id,prediction", *rows, *draw(st.sampled_from([[], [""], ["", ""]]))]).encode()
    data = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + data
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        place = draw(st.integers(0, len(data)))
        put = draw(st.sampled_from([*b'",\n\r \t0e+-.x_\0\xc3\xa4\xff', None]))
        data = data[:place] + (b"" if put is None else bytes([put])) + data[place + (put is None) :]
    return ids, data


def read_ours(data, ids, other_labels=()):
    try:
        return read_submission(data, RowIds.of(ids), other_labels=other_labels).predictions.tolist()
    except FileRejected as rejection:
        assert rejection.problems
        return None


@examples(400)
@given(files())
def test_file_is_read_like_with_csv_and_decimal(case):
    ids, data = case
    # A blank next to a quote is not valid CSV, but it is accepted.
    assume(not re.search(rb'[ \t]"|"[ \t]', data))
    assert_same_floats(read_ours(data, ids), read_plainly(data, ids))


OTHER_LABELS = ("insult", "id of a group", "Prediction")


@examples(100)
@given(
    st.permutations(["id", "prediction", *OTHER_LABELS]),
    st.sets(st.sampled_from(OTHER_LABELS)),
    st.lists(numbers(), min_size=len(TEXTS), max_size=len(TEXTS)),
    st.lists(st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8"), max_size=5), min_size=1),
)
def test_columns_of_other_labels_have_no_effect(columns, left_out, values, fillers):
    """Compare files with columns of other labels to the same files without these columns."""
    fill = itertools.cycle(fillers)
    rows = [
        {name: next(fill) for name in OTHER_LABELS} | {"id": name, "prediction": value}
        for name, value in zip(TEXTS, values, strict=True)
    ]
    data, alone = io.StringIO(newline=""), io.StringIO(newline="")
    for file, names in ((data, [n for n in columns if n not in left_out]), (alone, ["id", "prediction"])):
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    expected = read_ours(alone.getvalue().encode(), TEXTS)
    assert_same_floats(read_ours(data.getvalue().encode(), TEXTS, OTHER_LABELS), expected)
    if left_out != set(OTHER_LABELS):
        assert read_ours(data.getvalue().encode(), TEXTS) is None


@examples(300)
@given(files())
def test_fast_path_agrees_with_the_explaining_path(case):
    ids, data = case
    row_ids = RowIds.of(ids)
    try:
        text = text_of(data, "")
        layout = read_header(text)
    except FileRejected:
        reject()
    assume(layout.is_standard)
    proven = read_proven(text.data[layout.offset :], row_ids)
    assume(proven is not None)
    (values,), positions = proven
    predictions = np.empty(len(ids))
    predictions[positions] = values
    (explained,), _, notes = RowReader(text, layout, row_ids).read()
    assert not notes
    assert_same_floats(explained.tolist(), predictions.tolist())


def assert_same_floats(left, right):
    """Compare the bits, so that 0.0 and -0.0 differ."""
    if left is None or right is None:
        assert left is right is None
    else:
        assert [struct.pack("d", value) for value in left] == [struct.pack("d", value) for value in right]


def test_every_clean_file_takes_the_fast_path():
    for ids in (INTEGERS, TEXTS):
        row_ids = RowIds.of(ids)
        lines = [f"{name},{place / 7!r}\n" for place, name in enumerate(ids)]
        for body in ("".join(lines), "".join(lines[::-1]), "".join(lines).replace("\n", "\r\n")):
            assert read_proven(body.encode(), row_ids) is not None


def test_fast_path_accepts_exactly_the_number_grammar():
    """Try all texts of up to four bytes, using each kind of byte that occurs in numbers."""
    row_ids = RowIds.of(["1", "2"])
    for length in range(1, 5):
        for letters in itertools.product(b"7e+-.", repeat=length):
            value = bytes(letters)
            proven = read_proven(b"1,%s\n2,0.5\n" % value, row_ids)
            expected = NUMBER.fullmatch(value)
            assert (proven is not None) == (expected is not None), value
            if proven is not None:
                assert proven[0][0][0] == float(value)


@pytest.mark.parametrize("byte", [bytes([b]) for b in range(256) if b not in NUMBER_BYTES])
def test_fast_path_accepts_no_other_byte(byte):
    row_ids = RowIds.of(["1", "2"])
    for value in (byte, b"0" + byte, byte + b"0", b"0" + byte + b"5"):
        proven = read_proven(b"1,%s\n2,0.5\n" % value, row_ids)
        accepted_line_end = value in (b"0\r",)
        assert (proven is not None) == accepted_line_end


@pytest.mark.parametrize(
    "value",
    ["0.1", "0.30000000000000004", "2.2250738585072011e-308", "0." + "3" * 300, "9007199254740993", "1e-323"],
)
def test_predictions_are_rounded_correctly(value):
    for data in (f"id,prediction\n1,{value}\n", f'id,prediction\n1," {value}"\n'):
        assert read_ours(data.encode(), ["1"]) == [float(Fraction(Decimal(value)))]
