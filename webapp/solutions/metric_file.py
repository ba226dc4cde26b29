"""Upload of a metric written in Python (page and API)."""

from typing import Annotated, Any

from pydantic import Field

from fairboard.interface import Direction
from grader.models import CompetitionState
from grader.services.competitions.acting import Act
from grader.services.rescoring import metric_files
from webapp.competitions.setup import SETUP, organized_settings
from webapp.http import organizer_operations as organizing
from webapp.http.fields import Answer, Binary, FileForm, Text
from webapp.http.organizer_operations import Job
from webapp.solutions import receiving
from webapp.solutions.receiving import NamedBlob

UNCHANGED = "The live metric is unchanged until you publish a rescoring with this metric."


class MetricFileForm(FileForm):
    """A metric.py, an optional sample submission, and changed metric parameters."""

    sample: Annotated[Any, Binary] = None
    title: Text = ""
    direction: Direction | None = None
    decimals: Annotated[int | None, Field(ge=0, le=15)] = None
    nonnegative: Annotated[
        bool | None, Field(description="Whether no score is negative, so that groups can be in the score.")
    ] = None
    arguments: Annotated[
        Text, Field(description="Further arguments of `score`, as a JSON object.", examples=['{"beta": 2}'])
    ] = ""


class MetricFileStored(Answer):
    """The hash of a stored metric.py, and the check of the solution with it, if there is a solution."""

    sha256: str
    is_in_use: Annotated[
        bool, Field(description="False for a published competition, whose live metric is unchanged.")
    ]
    job: Job | None


@SETUP.act(
    "/metric-file",
    back=organized_settings,
    form="upload_metric_file",
    before=receiving.metric_file,
    done=lambda stored, **_: (
        "The metric was stored. It is checked with the solution."
        if stored.is_in_use
        else f"The metric is being checked for a rescoring. {UNCHANGED}"
    ),
    answers=MetricFileStored,
)
def upload_metric_file(act: Act, sent: MetricFileForm, prepared: list[NamedBlob]) -> MetricFileStored:
    """Upload a metric written in Python, for a draft or to check it for a rescoring."""
    for each in prepared:
        each.hold(act)
    source, *samples = (each.blob.sha256 for each in prepared)
    job = metric_files.use(
        act,
        source=source,
        sample=samples[0] if samples else None,
        title=sent.title,
        direction=sent.direction,
        decimals=sent.decimals,
        nonnegative=sent.nonnegative,
        arguments=metric_files.arguments_of(sent.arguments) if sent.arguments else None,
    )
    is_draft = act.competition.state is CompetitionState.DRAFT
    return MetricFileStored(sha256=source, is_in_use=is_draft, job=organizing.job(job) if job else None)
