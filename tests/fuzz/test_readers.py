"""Fuzz tests of file readers: a reproducible read, or a rejection with all problems."""

from collections.abc import Callable

import pytest
from hypothesis import given

from fairboard.interface import Options
from grader.errors import FairboardError
from grader.files import (
    FileRejected,
    RowIds,
    WrongColumns,
    guess_columns,
    read_label_predictions,
    read_public_table,
    read_solution,
    read_submission,
)
from grader.files.solution.canonical_form import digest_of
from grader.files.submission.columns import PredictedColumn, SubmissionColumns
from grader.receipts import InvalidReceipt, Receipt
from grader.scored_files import read_truth as read_metric_truth
from grader.services.competitions import settings_file, settings_problems
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.solutions.truth import Truth
from tests.fixtures.examples import examples
from tests.fixtures.mutations import IDS, PREDICTIONS, RECEIPT, SOLUTION, mishaps

pytestmark = pytest.mark.usefixtures("large_file_reader")

ROW_IDS = RowIds.of(IDS)


def submission(data, other_labels=()):
    accepted = read_submission(data, ROW_IDS, other_labels=other_labels)
    read = accepted.predictions.tolist()
    require_readable(accepted.notes)
    return read


def submission_beside(data):
    return submission(data, ["insult", "severe, toxic"])


def label_predictions(data):
    by_label, notes = read_label_predictions(data, ROW_IDS, label="toxicity", other_labels=["insult"])
    require_readable(notes)
    return {label: read.tolist() for label, read in by_label.items()}


def solution(data):
    read = read_solution(data)
    return read.labels.tolist(), sorted(read.identities), read.roles


def guessed_solution(data):
    guesses = guess_columns(data)
    require_text([guess.name for guess in guesses])
    read = read_solution(data, roles={guess.name: guess.role for guess in guesses})
    return read.labels.tolist(), read.roles


def scored_table(data):
    return read_solution(data, predictions=["female"]).labels.tolist()


def public_table(data):
    table = read_public_table(data, ROW_IDS, id_column="id")
    require_readable(table.problems)
    return table.columns, table.positions.tolist()


CLASSES = ("1", "a b", "Ö", 'x"y, z')
WANTED = SubmissionColumns(
    (
        PredictedColumn("share"),
        PredictedColumn("kind", classes=CLASSES),
        PredictedColumn("list", classes=("0", "1", "é"), places=2),
    )
)


def any_predictions(data):
    """Read predictions of several kinds."""
    accepted = read_submission(data, ROW_IDS, wanted=WANTED)
    require_readable(accepted.notes)
    return {name: values.tolist() for name, values in accepted.columns.items()}


def targets(data):
    """Read the solution of a metric."""
    name = "macro_f1" if b"dog" in data else "rmse"
    read = read_metric_truth(data, name, Options(), target="what", groups=["region"])
    return digest_of(Truth.of(read, read.usage).canonical(read.row_ids))


def competition_file(data):
    """Read the settings of a competition, whose counts must fit into PostgreSQL's integers."""
    read = settings_file.read(data.decode(errors="replace"))
    after = CompetitionSettings().changed(**read.changes)
    if not settings_problems.problems(after, is_draft=True):
        require_text(dict(after))
        assert not [value for _, value in after if isinstance(value, int) and value > 2**31 - 1]
    return read


def receipt(data):
    return Receipt.from_json(data).to_json()


LABEL_PREDICTIONS = b"id,insult,toxicity\n" + b"".join(
    f"{name},{place / 7!r},{place % 5}\n".encode() for place, name in enumerate(IDS)
)
PREDICTIONS_BESIDE = PREDICTIONS.replace(b"\n", b',?,"a, b"\n').replace(
    b'?,"a, b"', b'insult,"severe, toxic"', 1
)
ANY_PREDICTIONS = b"id,list,share,kind\n" + b"".join(
    f"{name},{('0 1', 'é', '1 0 é')[place % 3]},{place / 7!r},{kind}\n".encode()
    for place, name in enumerate(IDS)
    for kind in [("1", "a b", "Ö", '"x""y, z"')[place % 4]]
)
REGIONS = ("", "north", '"so, ""uth"')


def solution_of(what):
    lines = [
        f"{('Public', 'private', 'Ignored')[place % 3]},{name},{REGIONS[place % 5 % 3]},{what(place)}"
        for place, name in enumerate(IDS)
    ]
    return "\n".join(["Usage,id,region,what", *lines, ""]).encode()


TARGETS = solution_of(lambda place: repr(place / 7 - 1))
CLASS_TARGETS = solution_of(lambda place: ("dog", '"cat, eel"', "Ö")[place % 3])
COMPETITION = (
    settings_file.write("toxicity", CompetitionSettings(title='A "title"', rules="Be\nfair."))
    + '\n[files]\nsolution = "s.csv"\nlabel = "toxicity"\ndata = ["a", "b"]\n'
).encode()
# Each reader with a valid file and its errors for invalid files.
READERS: dict[str, tuple[Callable[[bytes], object], bytes, tuple[type[FairboardError], ...]]] = {
    "submission": (submission, PREDICTIONS, (FileRejected,)),
    "submission with other labels": (submission_beside, PREDICTIONS_BESIDE, (FileRejected,)),
    "label predictions": (label_predictions, LABEL_PREDICTIONS, (FileRejected,)),
    "solution": (solution, SOLUTION, (FileRejected, WrongColumns)),
    "guessed solution": (guessed_solution, SOLUTION, (FileRejected, WrongColumns)),
    "scored table": (scored_table, SOLUTION, (FileRejected, WrongColumns)),
    "public table": (public_table, SOLUTION, (FileRejected,)),
    "any predictions": (any_predictions, ANY_PREDICTIONS, (FileRejected,)),
    "targets": (targets, TARGETS, (FileRejected, WrongColumns)),
    "class targets": (targets, CLASS_TARGETS, (FileRejected, WrongColumns)),
    "competition file": (competition_file, COMPETITION, (InvalidCompetition,)),
    "receipt": (receipt, RECEIPT, (InvalidReceipt,)),
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_accepts_its_file(name):
    read, file, _ = READERS[name]
    assert read(file)


@pytest.mark.parametrize("name", READERS)
def test_damaged_file_is_read_or_rejected_with_the_same_result_twice(name):
    read, file, refusals = READERS[name]

    @examples(150)
    @given(mishaps())
    def try_one(what):
        damaged = what.happen_to(file)
        assert answer(read, damaged, refusals) == answer(read, damaged, refusals)

    try_one()


def answer(read, data, refusals):
    """Return a reader's result or rejection; any other exception is a failure."""
    try:
        return repr(read(data))
    except refusals as refused:
        require_text(refused.message)
        assert refused.message.strip()
        if isinstance(refused, FileRejected):
            assert 1 <= len(refused.problems) <= 20
            require_readable(refused.problems)
        return refused.message


def require_readable(remarks):
    """Fail unless a database can store these remarks and a person can read them."""
    for remark in remarks:
        require_text(remark.as_dict())
        assert remark.message.endswith(".")
        assert len(remark.message) < 5000
        assert remark.count >= 1


def require_text(value):
    """Fail if PostgreSQL cannot store this as JSON, because of NUL or a lone surrogate."""
    match value:
        case str():
            assert "\0" not in value
            value.encode()
        case dict():
            require_text(list(value.values()))
        case list():
            for each in value:
                require_text(each)
