"""Receipts and their verification with the original files."""

import dataclasses
import hashlib
import json
import math
import re
import subprocess
import sys
from functools import cache

import pytest

from fairboard import METRIC_CODE_VERSION, MetricSettings, count_pairs, prepare, report
from grader.errors import OrganizerRefusal
from grader.files import read_solution, read_submission
from grader.files.solution.canonical_form import canonical_table, commitment_to, digest_of
from grader.metrics import registry
from grader.models import Split
from grader.ranking import order
from grader.receipts import InvalidReceipt, Receipt
from grader.receipts.receipt import SplitReceipt, shown
from grader.receipts.verification import verify
from grader.scored_files import predicted_columns, read_truth
from grader.services.competitions.metric import NamedMetric
from grader.services.solutions.truth import Truth

SOLUTION = "id,toxicity,cat,dog,Usage\n" + "".join(
    f"{n},{n * 7 % 11 / 10},{n % 3 / 2},{'' if n % 5 else 1},{('Public', 'Private', 'Ignored')[n % 7 // 3]}\n"
    for n in range(140)
)
SUBMISSION = ("id,prediction\n" + "".join(f"{n},{n * 13 % 17 / 17}\n" for n in range(140))).encode()


NONCE = bytes(range(32))


@cache
def parts():
    """Return the solution as read by the grader, and its receipt for the submission."""
    solution = read_solution(SOLUTION.encode())
    file = read_submission(SUBMISSION, solution.row_ids)
    metric = MetricSettings()
    splits = {}
    for name, code in (("public", 1), ("private", 2)):
        rows = solution.usage == code
        identities = {name: values[rows] for name, values in solution.identities.items()}
        counts = count_pairs(prepare(solution.labels[rows], identities), file.predictions[rows])
        result = report(counts, metric)
        shown = order.SCALE.text(order.SCALE.units(result.score))
        splits[name] = SplitReceipt(shown, result.score, result.terms, counts.as_dict())
    columns = {"label": solution.labels} | dict(sorted(solution.identities.items()))
    canonical = b"".join(canonical_table(solution.row_ids, columns, solution.usage))
    receipt = Receipt(
        competition="toxic",
        submission=7,
        file=hashlib.sha256(SUBMISSION).hexdigest(),
        scoring_version=2,
        solution_number=2,
        metric_settings={"identities": ["cat", "dog"], "metric": metric.as_dict()},
        metric_code_version=str(METRIC_CODE_VERSION),
        splits=splits,
        commitment=commitment_to(digest_of([canonical]), NONCE.hex()),
        nonce=NONCE.hex(),
        label="toxicity",
        identities=("cat", "dog"),
    )
    return receipt, canonical


@pytest.fixture(scope="module")
def receipt():
    return parts()[0]


@pytest.fixture(scope="module")
def canonical():
    return parts()[1]


def differing(checks):
    return [check.what for check in checks if not check.holds]


def test_early_receipt_is_verified_with_the_published_nonce(receipt, canonical):
    early = dataclasses.replace(receipt, nonce=None)
    with pytest.raises(OrganizerRefusal, match=r"--nonce solution-nonce\.txt"):
        verify(early, submission=None, solution=canonical)
    assert differing(verify(early, submission=None, solution=canonical, nonce=NONCE)) == []
    assert differing(verify(early, submission=None, solution=canonical, nonce=bytes(32))) == [
        "sha256 of the nonce and the solution"
    ]
    assert differing(verify(early, submission=SUBMISSION, solution=None)) == []


def test_receipt_matches_its_original_files(receipt, canonical):
    for solution in (SOLUTION.encode(), canonical):
        checks = verify(receipt, submission=SUBMISSION, solution=solution)
        assert differing(checks) == []
        assert len(checks) == 2 + 2 * (3 + 1 + 2 * 7 + 4 + 2)
    in_other_order = dataclasses.replace(receipt, identities=("dog", "cat"))
    assert differing(verify(in_other_order, submission=SUBMISSION, solution=SOLUTION.encode())) == []


def test_other_solution_is_detected_even_with_equal_counts(receipt):
    other = SOLUTION.replace("\n1,0.7,", "\n1,0.8,")
    assert differing(verify(receipt, submission=SUBMISSION, solution=other.encode())) == [
        "sha256 of the nonce and the solution"
    ]


def test_difference_of_one_unit_in_the_last_place_is_detected(receipt):
    public = receipt.splits["public"]
    forged = dataclasses.replace(
        receipt,
        splits={"public": dataclasses.replace(public, score=math.nextafter(public.score, 1))},
    )
    assert differing(verify(forged, submission=SUBMISSION, solution=SOLUTION.encode())) == ["public score"]


def test_forged_count_is_detected(receipt):
    data = receipt.as_dict()
    data = json.loads(json.dumps(data))
    data["splits"]["private"]["counts"]["identities"][1]["bpsn_wins"] += 1
    forged = Receipt.from_json(json.dumps(data))
    assert differing(verify(forged, submission=SUBMISSION, solution=SOLUTION.encode())) == [
        "private bpsn_wins of dog"
    ]


def test_team_receipt_is_verified_as_far_as_possible(receipt, canonical):
    own = dataclasses.replace(
        receipt,
        splits={"public": SplitReceipt(receipt.splits["public"].shown)},
        label=None,
        identities=None,
    )
    assert set(own.as_dict()["splits"]["public"]) == {"shown"}
    assert len(verify(own, submission=SUBMISSION, solution=None)) == 1
    checks = verify(own, submission=SUBMISSION, solution=canonical)
    assert [check.what for check in checks] == [
        "sha256 of the submission",
        "sha256 of the nonce and the solution",
        "public score as shown",
    ]
    assert differing(checks) == []
    with pytest.raises(OrganizerRefusal, match="names of the columns"):
        verify(own, submission=SUBMISSION, solution=SOLUTION.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        r'"\ud800"',
        '{"receipt": 2}',
        '{"receipt": 3}',
        "null",
        '{"receipt": 2, "submission": 3}',
    ],
)
def test_invalid_receipt_is_rejected_with_a_message(text):
    with pytest.raises(InvalidReceipt):
        Receipt.from_json(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"metric_code_version": "2"}, "metric code version 2"), ({"nonce": 0}, "a wrong type")],
)
def test_receipt_of_another_metric_version_or_with_a_wrong_value_is_rejected(receipt, changes, message):
    with pytest.raises(InvalidReceipt, match=message):
        verify(dataclasses.replace(receipt, **changes), submission=SUBMISSION, solution=SOLUTION.encode())


@pytest.fixture
def files(tmp_path, receipt):
    (tmp_path / "receipt.json").write_text(receipt.to_json())
    (tmp_path / "solution.csv").write_text(SOLUTION)
    (tmp_path / "submission.csv").write_bytes(SUBMISSION)
    return tmp_path


def command(folder, *arguments):
    call = [sys.executable, "-m", "grader.cli", "verify", *arguments]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)


def test_command_reports_a_match_a_difference_or_an_unreadable_file(files):
    both = ("receipt.json", "--solution", "solution.csv", "--submission", "submission.csv")
    done = command(files, *both)
    assert (done.returncode, done.stderr) == (0, "")
    assert "50 values compared; all match the receipt." in done.stdout

    done = command(files, "receipt.json", "--submission", "submission.csv")
    assert done.returncode == 0
    assert "The score was not recomputed" in done.stdout

    (files / "submission.csv").write_bytes(SUBMISSION + b"\n\n")
    done = command(files, *both)
    assert done.returncode == 1
    assert re.search("sha256 of the submission: [0-9a-f]+ in the receipt, [0-9a-f]+ from", done.stderr)
    assert "1 of 50 compared values differ." in done.stderr

    (files / "submission.csv").write_bytes(SUBMISSION + b"7,1\n")
    done = command(files, *both)
    assert done.returncode == 2
    assert done.stderr.startswith("The submission is rejected:\n- ")

    done = command(files, "receipt.json")
    assert done.returncode == 1
    assert "Specify --solution, --submission, or both." in done.stderr


NAMES = ("cat", "dog", "eel")
CASES = {
    "rmse": (
        {"reported": ("mae", "r2", "spearman")},
        "target",
        "prediction",
        lambda n: f"{n * 37 % 101 / 7 + 1e6}",
        lambda n: f"{n * 41 % 97 / 7 + 1e6}",
    ),
    "macro_f1": (
        {"reported": ("kappa", "accuracy")},
        "animal",
        "prediction",
        lambda n: NAMES[n * n % 7 % 3],
        lambda n: NAMES[n % 3],
    ),
    "map_at_k": (
        {"cutoff": 2},
        "target",
        "prediction",
        lambda n: f"{NAMES[n % 3]} {NAMES[n * n % 7 % 3]}",
        lambda n: f"{NAMES[n * 7 % 3]} {NAMES[n % 2]} {NAMES[2]}",
    ),
    "mean_rmse": (
        {"columns": ("x", "y")},
        "x,y",
        "x,y",
        lambda n: f"{n * 37 % 101 / 7},{-n}",
        lambda n: f"{n * 41 % 97 / 7},{n % 3 - n}",
    ),
    # The log loss has no value for these predictions.
    "roc_auc": (
        {"weight": 0.5, "reported": ("log_loss", "spearman", "average_precision")},
        "target",
        "prediction",
        lambda n: f"{n * n % 5 % 2}",
        lambda n: f"{n % 11}",
    ),
}


@cache
def named_parts(name, *, rows=280):
    """Return a receipt of a metric by the first implementation, and its files by what they are."""
    options, target, prediction, truth_of, prediction_of = CASES[name]
    usage = [("Public", "Private", "Ignored")[n % 7 // 3] for n in range(rows)]
    regions = [("", "north", 'so"uth, far')[n % 13 % 3] for n in range(rows)]
    lines = [
        f'{n},{usage[n]},{truth_of(n)},"{regions[n].replace(chr(34), chr(34) * 2)}"' for n in range(rows)
    ]
    own = "\n".join([f"id,Usage,{target},region", *lines, ""]).encode()
    submission = "\n".join(
        [f"id,{prediction}", *(f"{n},{prediction_of(n)}" for n in range(rows - 1, -1, -1)), ""]
    ).encode()
    settings = NamedMetric(name=name, groups=("region",), **options)
    label = None if settings.columns else target
    read = read_truth(own, name, settings.blank_options, target=label, groups=["region"])
    scored = (("region", "north"), ("region", 'so"uth, far')) if settings.weight < 1 else ()
    settings = settings.model_copy(update={"classes": read.classes, "scored_groups": scored}).as_dict()
    truth = Truth.of(read, read.usage)
    metric, row_ids = registry.of_settings(settings), read.row_ids
    about = metric.describe()
    file = read_submission(
        submission, row_ids, wanted=predicted_columns(about, registry.options_of(settings))
    )
    splits = {}
    for split in Split:
        result = metric.score(metric.prepare(truth.columns, truth.rows(split)), metric.encode(file.columns))
        groups = {
            column: {each: {"rows": of["rows"], "score": of["score"]} for each, of in table.items()}
            for column, table in result.groups.items()
        }
        text = shown(result.score, about.decimals)
        splits[split.value] = SplitReceipt(
            text, result.score, result.terms, evidence=result.evidence, groups=groups
        )
    receipt = Receipt(
        competition="any",
        submission=7,
        file=hashlib.sha256(submission).hexdigest(),
        scoring_version=1,
        solution_number=1,
        metric_settings=settings,
        metric_code_version=metric.version,
        splits=splits,
        commitment=commitment_to(digest_of(truth.canonical(row_ids)), NONCE.hex()),
        nonce=NONCE.hex(),
        label=target.partition(",")[0],
        exactness=about.exactness.value,
        decimals=about.decimals,
    )
    canonical = b"".join(truth.canonical(row_ids))
    return Receipt.from_json(receipt.to_json()), {
        "own": own,
        "canonical": canonical,
        "submission": submission,
    }


@pytest.mark.parametrize("name", CASES)
def test_receipt_of_any_metric_matches_the_published_solution(name):
    receipt, files = named_parts(name)
    checks = verify(receipt, submission=files["submission"], solution=files["canonical"])
    assert differing(checks) == []
    compared = {check.what for check in checks}
    assert {
        "exactness",
        "public score",
        "private score as shown",
        "public rows of region = north",
    } <= compared
    assert {f"private {term}" for term in receipt.splits["private"].terms} <= compared
    assert all(check.is_exact for check in checks) == (receipt.exactness != "sums")


def numbers_in(data, path=()):
    """Yield the path of each number of a receipt's split, except those that state the machine."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, each in items:
        if isinstance(each, dict | list):
            yield from numbers_in(each, (*path, key))
        elif key != "cpu":
            yield *path, key


@pytest.mark.parametrize("name", CASES)
def test_every_changed_value_of_a_receipt_of_any_metric_is_detected(name):
    receipt, files = named_parts(name)
    # The sums behind a score depend on the machine, so only the values computed from them are compared.
    skipped = {"evidence"} if receipt.exactness == "sums" else set()
    paths = [path for path in numbers_in(receipt.as_dict()["splits"]) if not skipped.intersection(path)]
    assert len(paths) > 8
    for path in paths:
        data = json.loads(receipt.to_json())
        *parents, last = ["splits", *path]
        place = data
        for each in parents:
            place = place[each]
        value = place[last]
        if isinstance(value, float):
            place[last] = value * (1 + 1e-9) + 1e-9
        else:
            place[last] = value + 1 if isinstance(value, int) else "0x1.8p+3" if "0x" in value else "0.12345"
        forged = Receipt.from_json(json.dumps(data))
        assert differing(verify(forged, submission=files["submission"], solution=files["canonical"])), path


def test_counts_must_match_to_the_last_bit_and_sums_nearly():
    for name, is_found in (("macro_f1", True), ("rmse", False)):
        receipt, files = named_parts(name)
        public = receipt.splits["public"]
        near = dataclasses.replace(public, score=math.nextafter(public.score, math.inf))
        forged = dataclasses.replace(receipt, splits={"public": near})
        checks = verify(forged, submission=files["submission"], solution=files["canonical"])
        assert differing(checks) == (["public score"] if is_found else [])


@pytest.mark.parametrize("name", CASES)
def test_other_files_of_any_metric_are_detected(name):
    receipt, files = named_parts(name)
    header, *lines = files["canonical"].decode().splitlines(keepends=True)
    other = "".join([header, *lines[::-1]]).encode()
    assert "sha256 of the nonce and the solution" in differing(
        verify(receipt, submission=files["submission"], solution=other)
    )
    header, *lines = files["submission"].decode().splitlines()
    ids, fields = zip(*(line.split(",", 1) for line in lines), strict=True)
    moved = [",".join(pair) for pair in zip(ids, (*fields[1:], fields[0]), strict=True)]
    found = differing(
        verify(receipt, submission="\n".join([header, *moved]).encode(), solution=files["canonical"])
    )
    assert {"sha256 of the submission", "public score"} <= set(found)


def test_receipt_of_a_metric_in_python_is_compared_by_hashes_only(receipt):
    solution = b"id,target,Usage\n1,2.0,Public\n"
    python = dataclasses.replace(
        receipt,
        metric_settings={"name": "python", "source": "0" * 64, "python": {}},
        splits={"public": SplitReceipt("0.5", 0.5, {})},
        commitment=commitment_to(hashlib.sha256(solution).hexdigest(), NONCE.hex()),
    )
    checks = verify(python, submission=SUBMISSION, solution=solution)
    assert len(checks) == 2 and differing(checks) == []


@pytest.mark.parametrize(
    ("units", "text"),
    [(0.000125, "0.00013"), (-2.5e-6, "0.00000"), (1e300, "1.00000e+300"), (-1e300, "-1.00000e+300")],
)
def test_scores_are_displayed_as_on_leaderboards(units, text):
    for is_lowest_best in (False, True):
        scale = order.Scale(is_lowest_best=is_lowest_best)
        assert shown(units) == scale.text(scale.units(units)) == text
