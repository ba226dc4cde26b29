"""Warn when one identity name is probably several, such as `male, female` on one line.

A column may be called so, and then the solution's header has exactly that name.
"""

from collections.abc import Collection

from grader.models import Competition
from grader.services.competitions import metric
from grader.services.competitions.settings_problems import Fault


def hint(name: str) -> str:
    """Return what was expected where a name has commas; empty for any other."""
    parts = [part for part in name.split(",") if part.strip()]
    if len(parts) < 2:
        return ""
    return (
        f"If these are {len(parts)} columns, name them separately: one per line in the form, each in its own "
        "quotes in a file."
    )


def warnings(competition: Competition) -> list[Fault]:
    """Return a sentence for each chosen identity with commas that no solution is known to have."""
    names = metric.of(competition).identities or ()
    return [
        Fault(f"{name!r} is read as the name of one column. {hint(name)}", ("identities",))
        for name in names
        if hint(name) and name not in _columns(competition)
    ]


def _columns(competition: Competition) -> Collection[str]:
    version = competition.live_scoring_version
    if version is None:
        return ()
    return {line["name"] for line in version.solution.report["identities"]}
