"""Receipts and their verification with the original files."""

import dataclasses
import hashlib
import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from grader.files import read_solution, read_submission
from grader.files.solution.canonical_form import canonical_solution, hashes
from grader.metrics import METRIC_CODE_VERSION, MetricSettings, count_pairs, prepare, report
from grader.ranking import order
from grader.receipts import InvalidReceipt, NonceNeeded, Receipt, UnreadableFile, verify
from grader.receipts.receipt import SplitReceipt

SOLUTION = "id,toxicity,cat,dog,Usage\n" + "".join(
    f"{n},{n * 7 % 11 / 10},{n % 3 / 2},{'' if n % 5 else 1},{('Public', 'Private', 'Ignored')[n % 7 // 3]}\n"
    for n in range(140)
)
SUBMISSION = ("id,prediction\n" + "".join(f"{n},{n * 13 % 17 / 17}\n" for n in range(140))).encode()


NONCE = bytes(range(32))


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
    content = (solution.row_ids, solution.labels, solution.identities, solution.usage)
    receipt = Receipt(
        competition="toxic",
        submission=7,
        file=hashlib.sha256(SUBMISSION).hexdigest(),
        scoring_version=2,
        solution_number=2,
        metric_settings={"identities": ["cat", "dog"], "metric": metric.as_dict()},
        metric_code_version=str(METRIC_CODE_VERSION),
        splits=splits,
        commitment=hashes(canonical_solution(*content), nonce=NONCE)[1],
        nonce=NONCE.hex(),
        label="toxicity",
        identities=("cat", "dog"),
    )
    return receipt, b"".join(canonical_solution(*content))


@pytest.fixture(scope="module")
def receipt():
    return parts()[0]


@pytest.fixture(scope="module")
def canonical():
    return parts()[1]


def differing(checks):
    return [check.what for check in checks if not check.holds]


def test_receipt_survives_a_json_round_trip(receipt):
    assert Receipt.from_json(receipt.to_json()) == receipt


def test_commitment_is_the_hash_of_the_nonce_and_the_published_file(receipt, canonical):
    assert receipt.commitment == hashlib.sha256(NONCE + canonical).hexdigest()
    assert hashlib.sha256(canonical).hexdigest() not in receipt.to_json()


def test_early_receipt_is_verified_with_the_published_nonce(receipt, canonical):
    early = dataclasses.replace(receipt, nonce=None)
    with pytest.raises(NonceNeeded, match=r"solution-nonce\.txt"):
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


def test_other_submission_is_detected_by_hash_and_counts(receipt):
    swapped = SUBMISSION.replace(b"\n0,0.0\n", b"\n0,0.99\n")
    found = differing(verify(receipt, submission=swapped, solution=SOLUTION.encode()))
    assert "sha256 of the submission" in found
    assert any("overall_wins" in what for what in found)


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
    with pytest.raises(UnreadableFile, match="does not contain the column names"):
        verify(own, submission=SUBMISSION, solution=SOLUTION.encode())


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"receipt": 2}', '{"receipt": 3}', "null", '{"receipt": 2, "submission": 3}']
)
def test_invalid_receipt_is_rejected_with_a_message(text):
    with pytest.raises(InvalidReceipt):
        Receipt.from_json(text)


def test_receipt_of_another_metric_version_is_rejected(receipt):
    later = dataclasses.replace(receipt, metric_code_version="2")
    with pytest.raises(InvalidReceipt, match="metric code version 2"):
        verify(later, submission=SUBMISSION, solution=SOLUTION.encode())


def test_verification_loads_neither_numpy_nor_the_metric():
    code = (
        "import sys, grader.receipts; "
        "print([m for m in sys.modules if m.partition('.')[0] in ('numpy', 'pandas', 'sqlalchemy')"
        " or m.startswith(('grader.metrics', 'grader.files'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
    assert "50 values were compared; all match the receipt." in done.stdout

    done = command(files, "receipt.json", "--submission", "submission.csv")
    assert done.returncode == 0
    assert "The score was not recomputed" in done.stdout

    (files / "submission.csv").write_bytes(SUBMISSION + b"\n\n")
    done = command(files, *both)
    assert done.returncode == 1
    assert re.search("sha256 of the submission: [0-9a-f]+ in the receipt, [0-9a-f]+ from", done.stderr)
    assert "1 of 50 compared values differs." in done.stderr

    (files / "submission.csv").write_bytes(SUBMISSION + b"7,1\n")
    done = command(files, *both)
    assert (done.returncode, done.stderr) == (2, "Error: Line 142 of the submission repeats the id '7'.\n")

    done = command(files, "receipt.json")
    assert done.returncode == 1
    assert "Specify --solution, --submission, or both." in done.stderr


def test_command_accepts_the_published_nonce(files, receipt, canonical):
    early = dataclasses.replace(receipt, nonce=None, label=None, identities=None)
    (files / "receipt.json").write_text(early.to_json())
    (files / "solution.csv").write_bytes(canonical)
    (files / "solution-nonce.txt").write_text(f"{NONCE.hex()}\n")
    both = ("receipt.json", "--solution", "solution.csv", "--submission", "submission.csv")
    done = command(files, *both)
    assert done.returncode == 1
    assert "Specify that file with --nonce." in done.stderr
    done = command(files, *both, "--nonce", "solution-nonce.txt")
    assert (done.returncode, done.stderr) == (0, "")
    (files / "solution-nonce.txt").write_text("what is this")
    assert command(files, *both, "--nonce", "solution-nonce.txt").returncode == 2


def test_documented_commands_for_participants_work(files, receipt, canonical):
    """Run the commands exactly as they appear in docs/participants.md."""
    early = dataclasses.replace(receipt, nonce=None, label=None, identities=None)
    (files / "receipt-17-v1.json").write_text(early.to_json())
    (files / "solution.csv").write_bytes(canonical)
    (files / "solution-nonce.txt").write_text(f"{NONCE.hex()}\n")
    (files / "predictions.csv").write_bytes(SUBMISSION)
    text = (Path(__file__).parents[2] / "docs" / "participants.md").read_text()
    section = text[text.index("### Verify a score") : text.index("## Your account")]
    commands = re.findall(r"^    (fairboard verify .*--nonce.*|python3 .*)$", section, flags=re.MULTILINE)
    assert len(commands) == 2
    told = []
    for words in map(shlex.split, commands):
        program = [sys.executable, "-m", "grader.cli"] if words[0] == "fairboard" else [sys.executable]
        done = subprocess.run([*program, *words[1:]], cwd=files, capture_output=True, text=True, check=True)
        told.append(done.stdout)
    assert "all match the receipt" in told[0]
    assert told[1].strip() == receipt.commitment
