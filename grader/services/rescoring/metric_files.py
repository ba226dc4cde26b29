"""Uploads of metrics written in Python: for a draft, or for a rescoring."""

import json
from dataclasses import replace
from typing import Any

from fairboard.interface import Direction
from grader.errors import ErrorKind, OrganizerRefusal
from grader.metrics.python_metric import PythonSettings
from grader.models import CompetitionState, OrganizerJob
from grader.sandbox import layers
from grader.services.competitions import settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import NamedMetric, Rules
from grader.services.solutions import check_jobs
from grader.settings import HostMetrics

MOST_ARGUMENTS_BYTES = 10_000


def refused(message: str) -> OrganizerRefusal:
    """Return the refusal for an unusable or unauthorized metric.py."""
    return OrganizerRefusal("metric_file_refused", ErrorKind.CONFLICT, message)


def is_allowed(allowed: HostMetrics, *, is_administrator: bool) -> bool:
    """Return whether the user may upload metrics, if this machine can run them."""
    return allowed is HostMetrics.ORGANIZERS or (allowed is HostMetrics.ADMINISTRATORS and is_administrator)


def require_allowed(allowed: HostMetrics, *, is_administrator: bool) -> None:
    """Raise OrganizerRefusal unless the user may upload metrics and this machine can run them."""
    if allowed is HostMetrics.OFF:
        raise refused("This site accepts no metrics written in Python.")
    if not is_allowed(allowed, is_administrator=is_administrator):
        raise refused("Only administrators of this site may upload metrics written in Python.")
    if refusal := layers().refusal:
        raise refused(refusal)


def arguments_of(text: str) -> dict[str, Any]:
    """Parse the further arguments of `score`, a JSON object; raise OrganizerRefusal."""
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict) or len(text) > MOST_ARGUMENTS_BYTES:
        raise refused('The arguments must be a JSON object, such as {"beta": 2}.')
    return arguments


def use(
    act: Act,
    *,
    source: str,
    sample: str | None,
    title: str,
    direction: Direction | None,
    decimals: int | None,
    nonnegative: bool | None,
    arguments: dict[str, Any] | None,
) -> OrganizerJob | None:
    """Use an uploaded metric for a draft, or check it for a rescoring; return the job of the check.

    `source` and `sample` are the hashes of stored files. Parameters that are None or blank stay unchanged.
    For a draft without a solution, there is no job.
    """
    before = settings.of(act.competition).metric_choice.metric
    known = before if before.is_python else None
    python = PythonSettings.from_dict(known.python) if known and known.python else PythonSettings()
    is_draft = act.competition.state is CompetitionState.DRAFT
    if not is_draft and known is None:
        raise refused("The metric of this competition is not written in Python, so it has no metric.py.")
    if not is_draft and sample is not None:
        raise refused(
            "A rescoring may only change the file of a metric that is written in Python, not its columns. "
            "Send a metric.py without a sample submission."
        )
    changed = replace(
        python,
        title=title or python.title,
        direction=direction or python.direction,
        decimals=python.decimals if decimals is None else decimals,
        nonnegative=python.nonnegative if nonnegative is None else nonnegative,
        arguments=python.arguments if arguments is None else arguments,
        terms=("score",),
        sample=sample or python.sample,
    )
    metric = (known or NamedMetric(name="python")).model_copy(
        update={"source": source, "python": changed.as_dict()}
    )
    if not is_draft:
        return check_jobs.add_settings_check(act, rules=Rules(metric=metric))
    settings.change(act, changes={"metric": metric}, is_upload=True)
    return check_jobs.check_choice(act, choice=settings.of(act.competition).metric_choice)
