"""Resumable creation of the demo competition: files, accounts and submissions.

Each step first checks which parts exist, so a second run continues the first one.
"""

import contextlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pandas as pd

from grader.client import Refused
from grader.demo.classifiers import MODELS, Model, write_predictions
from grader.demo.dataset import generate
from grader.demo.oracle import SubmittedFile
from grader.demo.service import SLUG, CommandFailed, DemoInstallation
from grader.errors import OrganizerError

FILES = Path(__file__).with_name("files")
ORGANIZER = "organizer"
NEWCOMER = "newcomer"
ACCOUNTS = (NEWCOMER, ORGANIZER, *dict.fromkeys(model.team for model in MODELS))
SCORING_TIMEOUT_SECONDS = 180

Say = Callable[[str], None]


class DemoFailed(OrganizerError):
    """The demo could not be completed."""

    public_name = "demo_failed"


class StepPrinter:
    """Prints numbered steps."""

    def __init__(self, count: int, say: Callable[[str], None]) -> None:
        self._count, self._say = count, say
        self._number = 0
        self._started_at = time.monotonic()

    @property
    def elapsed(self) -> float:
        """The seconds since the first step."""
        return time.monotonic() - self._started_at

    def begin(self, what: str) -> None:
        """Print the number and description of the next step."""
        self._number += 1
        self._say(f"[{self._number:2}/{self._count}] {what}")


@dataclass(frozen=True, slots=True)
class DemoProgress:
    """The accounts' passwords and tokens, and each model's submission, stored in a private file."""

    path: Path
    passwords: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    submissions: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, *, resume: bool) -> "DemoProgress":
        """Return the progress of an earlier run, or empty progress."""
        path = folder / "progress.json"
        kept = json.loads(path.read_text()) if resume and path.exists() else {}
        return cls(path, **kept)

    def write(self) -> None:
        """Write the progress file atomically."""
        draft = self.path.with_suffix(".draft")
        draft.touch(mode=0o600)
        kept = {name: value for name, value in asdict(self).items() if name != "path"}
        draft.write_text(json.dumps(kept, indent=2))
        draft.replace(self.path)


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo competition of an installation, with its files in `folder`."""

    installation: DemoInstallation
    folder: Path
    say: Say
    steps: StepPrinter

    @property
    def solution(self) -> Path:
        """The first solution file of the competition."""
        return self.folder / "solution.csv"

    @property
    def corrected_solution(self) -> Path:
        """The solution file of the rescoring."""
        return self.folder / "corrected_solution.csv"

    def predictions(self, model: Model) -> Path:
        """The submission file of a model."""
        return self.folder / "predictions" / f"{model.name}.csv"


def steps(say: Say) -> StepPrinter:
    """Return the steps of the demo: files, start, accounts, competition, each model, scores."""
    return StepPrinter(len(MODELS) + 5, say)


def write_files(demo: Demo) -> None:
    """Write the competition's files unless they exist."""
    demo.steps.begin("Generating the comments")
    demo.predictions(MODELS[0]).parent.mkdir(parents=True, exist_ok=True)
    # The corrected solution is written last, so its presence shows that all files exist.
    if not demo.corrected_solution.exists():
        generate().write(demo.folder)


def set_up(demo: Demo) -> DemoProgress:
    """Create the competition and accounts, submit each model's predictions, and wait for scores."""
    is_there = _is_published(demo)
    progress = DemoProgress.of(demo.folder, resume=is_there)
    demo.steps.begin(f"Creating {len(ACCOUNTS)} accounts")
    _ensure_accounts(demo, progress)
    demo.steps.begin("Creating the competition and checking its data files")
    if not is_there:
        create_competition(demo)
    train, test = (pd.read_csv(demo.folder / f"{name}.csv") for name in ("train", "test"))
    for model in MODELS:
        demo.steps.begin(f"Team {model.team} trains and submits {model.name}.csv: {model.description}")
        if model.name not in progress.submissions:
            write_predictions(model, train, test, demo.predictions(model))
            with demo.installation.client(progress.tokens[model.team]) as client:
                sent = client.submit(demo.predictions(model), description=model.description)
            progress.submissions[model.name] = sent.id
            progress.write()
    demo.steps.begin("Waiting for the last scores")
    _wait_until_scored(demo, progress)
    return progress


def _is_published(demo: Demo) -> bool:
    with demo.installation.client() as visitor:
        try:
            visitor.pages()
        except Refused:
            return False
    return True


def create_competition(demo: Demo) -> None:
    """Create and publish the competition; replace a draft that an earlier run left."""
    shutil.copytree(FILES, demo.folder, dirs_exist_ok=True)
    create = ("competition", "create", str(demo.folder / "competition.toml"), "--publish")
    try:
        demo.installation.command(*create)
    except CommandFailed:
        with contextlib.suppress(CommandFailed):
            demo.installation.command("api", "DELETE", f"competitions/{SLUG}/organize", "--yes")
        demo.installation.command(*create)


def entries(demo: Demo, progress: DemoProgress) -> list[SubmittedFile]:
    """Return the submitted files in the order in which the service accepted them."""
    sent = sorted(MODELS, key=lambda model: progress.submissions[model.name])
    return [SubmittedFile(model.team, demo.predictions(model)) for model in sent]


def _ensure_accounts(demo: Demo, progress: DemoProgress) -> None:
    """Create the accounts and tokens; existing accounts keep their passwords, which are unknown."""
    missing = [name for name in ACCOUNTS if name not in progress.tokens]
    if not missing:
        return
    for made in demo.installation.make_accounts(ORGANIZER, *missing):
        if made["password"]:
            progress.passwords[made["name"]] = made["password"]
        progress.tokens[made["name"]] = made["token"]
    progress.write()


def _wait_until_scored(demo: Demo, progress: DemoProgress) -> None:
    for model in MODELS:
        with demo.installation.client(progress.tokens[model.team]) as client:
            result = client.wait(progress.submissions[model.name], timeout_seconds=SCORING_TIMEOUT_SECONDS)
        if result.status != "scored":
            raise DemoFailed(f"{model.name}.csv was {result.status}: {result.problems}")
