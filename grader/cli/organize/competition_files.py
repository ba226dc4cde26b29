"""Competition settings from files, validated before they are sent."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from grader.cli.parameters import text_of
from grader.files.solution.jigsaw import IDENTITIES, TITLE
from grader.services.competitions import lookup, settings_file
from grader.services.competitions.metric import NamedMetric, metric_of
from grader.services.competitions.settings_file import CompetitionFile
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import Fault, InvalidCompetition, problems

_JSON = TypeAdapter(dict[str, Any])


def read_new(path: Path) -> CompetitionFile:
    """Read the file of a new competition; raise InvalidCompetition with all its problems."""
    found = settings_file.read(text_of(path))
    faults = problems(CompetitionSettings().changed(**found.changes), is_draft=True)
    return _sound(path, found, faults, lookup.slug_fault(found.slug or path.stem))


def read_change(path: Path, before: Mapping[str, Any]) -> CompetitionFile:
    """Read a file with changes to existing settings; raise InvalidCompetition with all problems.

    The server checks combinations of values.
    """
    formula = metric_of(before["metric"])
    found = settings_file.read(text_of(path), before=CompetitionSettings().changed(metric=formula))
    faults = problems(CompetitionSettings().changed(**found.changes), is_draft=True)
    changed = [fault for fault in faults if len(fault.names) == 1 and fault.names[0] in found.changes]
    return _sound(path, found, changed)


def of_jigsaw(slug: str) -> CompetitionFile:
    """Return the settings and files of a competition with Kaggle's published test files."""
    settings = settings_file.read('files = { solution = "solution.csv", data = ["test.csv"] }')
    return settings.model_copy(
        update={"slug": slug, "changes": {"title": TITLE, "identities": list(IDENTITIES)}}
    )


def _sound(
    path: Path, found: CompetitionFile, faults: Iterable[Fault], slug_fault: str = ""
) -> CompetitionFile:
    absent = [path.parent / name for name in found.files if not (path.parent / name).is_file()]
    told = [*map(Fault, filter(None, [slug_fault])), *faults]
    if told := [*told, *(Fault(f"The file {name} does not exist.") for name in absent)]:
        raise InvalidCompetition(told)
    plain = {
        name: value.as_dict() if isinstance(value, NamedMetric) else value
        for name, value in found.changes.items()
    }
    return found.model_copy(update={"changes": _JSON.dump_python(plain, mode="json")})
