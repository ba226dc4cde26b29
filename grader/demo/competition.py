"""Create the demo competition in a new service: accounts, solution, submissions, by commands and the API.

Every step looks first at what is already there, so that a second start, or one after a broken first, goes on.
"""

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from grader.demo.dataset import generate
from grader.demo.models import MODELS, Model, write_predictions
from grader.demo.oracle import Entry
from grader.demo.progress import Progress
from grader.demo.service import CommandFailed, Installation
from grader.errors import OrganizerError

SLUG = "demo"
TITLE = "Demo: unkind words, fair models"
OVERVIEW = Path(__file__).with_name("overview.md")
CLASSES = Path(__file__).with_name("classes.toml")
ORGANIZER = "organizer"
ACCOUNTS = (ORGANIZER, *dict.fromkeys(model.team for model in MODELS))
SCORING_TIMEOUT_SECONDS = 180
POLL_SECONDS = 0.3

Say = Callable[[str], None]


class DemoFailed(OrganizerError):
    """The demo could not be completed."""

    public_name = "demo_failed"


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo competition of one installation; its files are in `folder`."""

    installation: Installation
    folder: Path
    say: Say

    @property
    def solution(self) -> Path:
        """The solution file that the competition opens with."""
        return self.folder / "solution.csv"

    @property
    def corrected_solution(self) -> Path:
        """The solution file of the rescoring."""
        return self.folder / "corrected_solution.csv"

    def predictions(self, model: Model) -> Path:
        """The file that a model sends."""
        return self.folder / "predictions" / f"{model.name}.csv"


def write_files(demo: Demo) -> None:
    """Write train, test and solution files where they are not there yet."""
    demo.predictions(MODELS[0]).parent.mkdir(parents=True, exist_ok=True)
    if not demo.corrected_solution.exists():  # the last one written
        generate().write(demo.folder)


def set_up(demo: Demo) -> Progress:
    """Create the competition, enter the teams, send what every model predicts, and wait for the scores."""
    progress = _create_competition(demo)
    train, test = (pd.read_csv(demo.folder / f"{name}.csv") for name in ("train", "test"))
    # Commands take a second each, most of it start-up: they run beside the models' learning.
    beside = ThreadPoolExecutor(max_workers=2)
    try:
        accounts = {name: beside.submit(_ensure_account, demo, progress, name) for name in ACCOUNTS}
        for model in MODELS:
            if model.name in progress.submissions:
                continue
            write_predictions(model, train, test, demo.predictions(model))
            accounts[model.team].result()
            _send(demo, progress, model)
        for account in accounts.values():
            account.result()
    finally:
        beside.shutdown(cancel_futures=True)
    _wait_until_scored(demo, progress)
    return progress


def entries(demo: Demo, progress: Progress) -> list[Entry]:
    """Return the sent files in the order in which the service accepted them."""
    sent = sorted(MODELS, key=lambda model: progress.submissions[model.name])
    return [Entry(model.team, demo.predictions(model)) for model in sent]


def _create_competition(demo: Demo) -> Progress:
    listed = demo.installation.command("competition", "list").splitlines()
    if SLUG in (line.split("\t")[0] for line in listed):
        return Progress(demo.folder, resume=True)
    demo.say("Creating the competition.")
    files = ["--solution", str(demo.solution), "--overview", str(OVERVIEW)]
    demo.installation.command("competition", "create", SLUG, "--title", TITLE, "--feedback", "open", *files)
    demo.installation.command("competition", "apply", SLUG, str(CLASSES))
    data = demo.folder / "data.toml"
    data.write_text('[files]\ndata = ["train.csv", "test.csv"]\n', encoding="utf-8")
    demo.installation.command("competition", "apply", SLUG, str(data))  # looks through them first
    return Progress(demo.folder, resume=False)


def _ensure_account(demo: Demo, progress: Progress, name: str) -> None:
    """Create the account and its token; of an account that is already there the password stays unknown."""
    command = demo.installation.command
    if name not in progress.passwords:
        with contextlib.suppress(CommandFailed):
            flags = ["--admin"] if name == ORGANIZER else []
            password = command("user", "create", name, *flags).strip()
            progress.note(progress.passwords, name, password)
    if name not in progress.tokens:
        progress.note(progress.tokens, name, command("token", "create", name).strip())


def _send(demo: Demo, progress: Progress, model: Model) -> None:
    api = demo.installation.api(progress.tokens[model.team])
    submission_id = api.submit(SLUG, demo.predictions(model), model.description)
    progress.note(progress.submissions, model.name, submission_id)
    demo.say(f"{model.team} sent {model.name}.csv: {model.description}")


def _wait_until_scored(demo: Demo, progress: Progress) -> None:
    deadline = time.monotonic() + SCORING_TIMEOUT_SECONDS
    for model in MODELS:
        api = demo.installation.api(progress.tokens[model.team])
        while (answer := api.submission(progress.submissions[model.name]))["status"] == "pending":
            if time.monotonic() > deadline:
                raise DemoFailed(f"{model.name}.csv is still not scored after {SCORING_TIMEOUT_SECONDS} s.")
            time.sleep(POLL_SECONDS)
        if answer["status"] != "scored":
            raise DemoFailed(f"{model.name}.csv was {answer['status']}: {answer['problems']}")
