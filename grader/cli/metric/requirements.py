"""`fairboard score --require`: limits on values, for continuous integration."""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from grader.cli.group import UNMET

_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_PARTS = re.compile(r"\s*([^<>=]+?)\s*(>=|<=|>|<)\s*([^<>=\s]+)\s*")

# Maps the name of each model, which is empty if there is only one, to its values. None is undefined.
Values = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class Requirement:
    """A limit on a value, such as ``bpsn_auc >= 0.9``."""

    term: str
    relation: str
    limit: float

    def __str__(self) -> str:
        return f"{self.term} {self.relation} {self.limit!r}"

    def is_met(self, value: float | None) -> bool:
        """Return whether a value is defined and within the limit."""
        return value is not None and _RELATIONS[self.relation](value, self.limit)


class RequirementText(click.ParamType):  # type: ignore[type-arg]
    """A requirement as text."""

    name = "'TERM >= X'"

    def convert(
        self, value: str | Requirement, param: click.Parameter | None, ctx: click.Context | None
    ) -> Requirement:
        if isinstance(value, Requirement):
            return value
        parts = _PARTS.fullmatch(value)
        try:
            limit = float(parts[3]) if parts else math.nan
        except ValueError:
            limit = math.nan
        if parts is None or not math.isfinite(limit):
            self.fail(f"{value!r} must be a term, >=, <=, > or <, and a number.", param, ctx)
        return Requirement(parts[1], parts[2], limit)


require_option = click.option(
    "--require",
    "requirements",
    type=RequirementText(),
    multiple=True,
    help="A limit on the score or a term on all scored rows, such as 'bpsn_auc >= 0.9'; also <=, > or "
    "<. If a value misses a limit or is undefined, the exit code is 6. May be repeated.",
)


def enforce(requirements: Sequence[Requirement], values: Values) -> None:
    """Print all requirements that are not met; exit with 6 if there are any.

    Raises
    ------
    UsageError
        If a model has no term with the name in a requirement.
    """
    failures = list(_failures(requirements, values))
    for sentence in failures:
        click.echo(sentence, err=True)
    if failures:
        raise click.exceptions.Exit(UNMET)


def _failures(requirements: Sequence[Requirement], values: Values) -> Iterator[str]:
    for model, terms in values.items():
        for each in requirements:
            if each.term not in terms:
                raise click.UsageError(f"--require: there is no {each.term!r}. Terms: {', '.join(terms)}.")
            if not each.is_met(terms[each.term]):
                value = terms[each.term]
                found = "undefined" if value is None else repr(value)
                place = f"{model}: " if model else ""
                yield f"{place}{each.term} is {found}, but the requirement is {each}."
