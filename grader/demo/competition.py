"""Create the demo competition in a new service: accounts, solution, submissions, by commands and the API.

Every step looks first at what is already there, so that a second start, or one after a broken first, goes on.
"""

import contextlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from grader.demo.dataset import generate
from grader.demo.models import MODELS, Model, write_predictions
from grader.demo.oracle import Entry
from grader.demo.progress import Progress, Steps
from grader.demo.service import CommandFailed, Installation
from grader.errors import OrganizerError

SLUG = "demo"
FILES = Path(__file__).with_name("files")
ORGANIZER = "organizer"
NEWCOMER = "newcomer"
ACCOUNTS = (NEWCOMER, ORGANIZER, *dict.fromkeys(model.team for model in MODELS))
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
    steps: Steps

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


def steps(say: Say) -> Steps:
    """Return the steps to a running demo: files, start, competition, accounts, each model, scores."""
    return Steps(len(MODELS) + 5, say)


def write_files(demo: Demo) -> None:
    """Write the competition's files where they are not there yet."""
    demo.steps.begin("writing the comments")
    demo.predictions(MODELS[0]).parent.mkdir(parents=True, exist_ok=True)
    if not demo.corrected_solution.exists():  # the last one written
        generate().write(demo.folder)


def set_up(demo: Demo) -> Progress:
    """Create the competition, enter the teams, send what every model predicts, and wait for the scores."""
    demo.steps.begin("creating the competition, with a check of its data files")
    is_there = demo.installation.api().has(SLUG)
    if not is_there:
        create_competition(demo)
    progress = Progress.of(demo.folder, resume=is_there)
    demo.steps.begin(f"making {len(ACCOUNTS)} accounts")
    _ensure_accounts(demo, progress)
    train, test = (pd.read_csv(demo.folder / f"{name}.csv") for name in ("train", "test"))
    for model in MODELS:
        demo.steps.begin(f"{model.team} learns and sends {model.name}.csv: {model.description}")
        if model.name not in progress.submissions:
            write_predictions(model, train, test, demo.predictions(model))
            api = demo.installation.api(progress.tokens[model.team])
            progress.submissions[model.name] = api.submit(SLUG, demo.predictions(model), model.description)
            progress.write()
    demo.steps.begin("waiting for the last scores")
    _wait_until_scored(demo, progress)
    return progress


def create_competition(demo: Demo) -> None:
    """Create and publish the competition of the file, in place of a draft that an earlier start left."""
    shutil.copytree(FILES, demo.folder, dirs_exist_ok=True)
    create = ("competition", "create", str(demo.folder / "competition.toml"), "--publish")
    try:
        demo.installation.command(*create)
    except CommandFailed:
        with contextlib.suppress(CommandFailed):
            demo.installation.command("competition", "delete", SLUG, "--yes")
        demo.installation.command(*create)


def entries(demo: Demo, progress: Progress) -> list[Entry]:
    """Return the sent files in the order in which the service accepted them."""
    sent = sorted(MODELS, key=lambda model: progress.submissions[model.name])
    return [Entry(model.team, demo.predictions(model)) for model in sent]


def _ensure_accounts(demo: Demo, progress: Progress) -> None:
    """Create the accounts and their tokens; an account that was there before keeps its unknown password."""
    missing = [name for name in ACCOUNTS if name not in progress.tokens]
    if not missing:
        return
    for made in demo.installation.make_accounts(ORGANIZER, *missing):
        if made["password"]:
            progress.passwords[made["name"]] = made["password"]
        progress.tokens[made["name"]] = made["token"]
    progress.write()


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
