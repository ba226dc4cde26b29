"""`fairboard gate`: thresholds on a model's score and AUCs, for continuous integration."""

from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import click

from grader.cli.group import DISAPPROVED
from grader.cli.metric.any_metric import any_metric_options, read_for, require_bias_options
from grader.cli.metric.solution_roles import ADVICE, role_option, warn
from grader.cli.output import show_json
from grader.cli.parameters import (
    INPUT_FILE,
    OUTPUT_FILE,
    Finite,
    csv_of,
    evaluation_command,
    from_jigsaw_option,
    metric_settings,
    solution_files,
    split_option,
    undefined_option,
)
from grader.text import aligned, counted, markdown_table

AUCS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
TERMS = ("overall_auc", *(f"mean_{auc}" for auc in AUCS))
LIMIT = Finite(0, 1)
PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"


class GateCheck(NamedTuple):
    """A rule applied to the whole split or to one identity, with the interval of the value."""

    status: str
    rule: str
    identity: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@evaluation_command
@click.argument("solution", type=INPUT_FILE, required=False)
@click.argument("predictions", type=INPUT_FILE, required=False)
@from_jigsaw_option
@role_option
@click.option("--baseline", type=INPUT_FILE, help="The predictions of the model to compare with.")
@any_metric_options
@click.option("--min-score", type=Finite(), help="The lowest allowed score.")
@click.option("--max-score", type=Finite(), help="The highest allowed score, if the lowest is the best.")
@click.option(
    "--min",
    "minima",
    type=(click.Choice([*AUCS, *TERMS]), LIMIT),
    multiple=True,
    metavar="NAME X",
    help=f"The lowest allowed value of a term ({', '.join(TERMS)}), or of an AUC for each identity "
    f"({', '.join(AUCS)}). May be repeated.",
)
@click.option(
    "--max-drop",
    type=Finite(0),
    help="The largest allowed drop of the score below the baseline; a rise, if the lowest score is the best.",
)
@click.option("--max-identity-drop", type=LIMIT, help="The same for each AUC of each identity.")
@click.option(
    "--decide-by",
    type=click.Choice(["value", "lower", "upper"]),
    default="value",
    help="The number that must meet a limit: the value, or the lower (pass only if certain) or upper bound "
    "(fail only if certain) of its interval; the other way round if the lowest score is the best.",
)
@click.option("--level", type=Finite(0.5, 1, max_open=True), default=0.95, help="Confidence level.")
@split_option
@click.option("--min-size", type=click.IntRange(0), default=0, help="Skip identities with fewer rows.")
@undefined_option("error")
@click.option("--markdown", type=OUTPUT_FILE, help="File for a Markdown summary ($GITHUB_STEP_SUMMARY).")
@click.option("--junit", type=OUTPUT_FILE, help="File for a JUnit XML report with one test case per check.")
def gate(**options: Any) -> None:
    """Check PREDICTIONS against limits. The exit code is 6 if a check fails.

    \b
    fairboard gate solution.csv new.csv --min-score 0.92 --min bpsn_auc 0.85
    fairboard gate solution.csv new.csv --baseline old.csv --max-drop 0.01 --decide-by upper
    fairboard gate solution.csv new.csv --metric rmse --max-score 2.5

    An undefined value fails, unless --undefined skip is set. A rule fails if all its values are skipped. A
    limit on an AUC applies to every identity. Changes are the new value minus the baseline's value.
    """
    chosen = SimpleNamespace(**options)
    checks = list(_checks(chosen) if chosen.metric == "bias" else _checks_of_any(chosen))
    checks.sort(key=lambda check: (FAILED, SKIPPED, PASSED).index(check.status))
    failed = sum(check.status == FAILED for check in checks)
    title = f"Gate {'failed' if failed else 'passed'}: {failed} of {counted(len(checks), 'check')} failed"
    lines = [list(GateCheck._fields), *([_shown(cell) for cell in check] for check in checks)]
    if chosen.markdown is not None:
        chosen.markdown.write_text(f"### {title}\n\n{markdown_table(lines)}", encoding="utf-8")
    if chosen.junit is not None:
        chosen.junit.write_bytes(_junit(checks, failed))
    if chosen.as_json:
        show_json({"passed": not failed, "checks": [check._asdict() for check in checks]})
    else:
        click.echo("\n".join([title, "", *aligned(lines, numbers=False)]))
    if failed:
        raise click.exceptions.Exit(DISAPPROVED)


def _checks(chosen: SimpleNamespace) -> Iterator[GateCheck]:
    from grader.cli.metric.reports import Evaluation
    from grader.files import read_solution, read_submission
    from grader.metrics.bias.analysis.influence import Measured, Sets
    from grader.metrics.bias.analysis.intervals import Estimate, uncertainty_of
    from grader.metrics.bias.analysis.paired_differences import Difference, paired_report

    require_bias_options()
    if chosen.max_score is not None:
        raise click.UsageError("--max-score: only for a metric whose lowest score is the best.")
    for name, limit in {"--min-score": chosen.min_score, "--max-drop": chosen.max_drop}.items():
        if limit is not None and limit > 1:
            raise click.BadParameter(f"{limit} is not in the range 0<=x<=1.", param_hint=name)
    minima = [("score", chosen.min_score), *chosen.minima]
    drops = [("score", chosen.max_drop), *((auc, chosen.max_identity_drop) for auc in AUCS)]
    minima, drops = ([(n, limit) for n, limit in each if limit is not None] for each in (minima, drops))
    solution, predictions = _files(chosen, drops, minima)
    settings = metric_settings(chosen.power, chosen.weights, chosen.threshold, chosen.undefined)
    columns = {"label": chosen.label, "identities": chosen.identities, "named": dict(chosen.roles)}
    truth = read_solution(csv_of(solution), **columns)
    if sentences := [each.sentence for each in truth.near_misses]:
        raise click.ClickException(" ".join([*sentences, ADVICE]))
    warn(truth.roles)
    evaluation = Evaluation.of(truth, settings, min_size=chosen.min_size)
    if chosen.split not in evaluation.splits:
        raise click.ClickException(f"The solution has no rows in the split {chosen.split}.")
    rows, prepared = evaluation.splits[chosen.split]
    sets, numbers = Sets(prepared), []
    for path in filter(None, [predictions, chosen.baseline]):
        click.echo(f"Reading {path}", err=True)
        numbers.append(read_submission(csv_of(path), truth.row_ids).predictions[rows])
    measured = [Measured.of(sets, each, settings) for each in numbers]
    ranges = uncertainty_of(sets, measured[0], level=chosen.level)
    reasons = {
        f"{each.term} {each.subgroup or ''}": str(each)
        for each in ranges.report.undefined
        if each.affects_score
    }
    small = {line.name: line.size for line in ranges.report.subgroups if not line.in_score}

    def check(
        rule: str, name: str, each: Estimate | Difference, limit: float, identity: str = ""
    ) -> GateCheck:
        value = each.value if isinstance(each, Estimate) else each.difference
        bound = {"value": value, "lower": each.low, "upper": each.high}[chosen.decide_by]
        if bound is None and (chosen.decide_by == "upper" or getattr(each, "p_value", None) == 1):
            bound = value
        is_verified = each.is_checked or each.low is None
        status, reason = PASSED, "" if is_verified else "interval outside the verified range"
        if identity in small:
            status, reason = SKIPPED, f"mentioned in {counted(small[identity], 'row')}, fewer than --min-size"
        elif value is None:
            status = SKIPPED if identity and settings.undefined == "skip" else FAILED
            reason = reasons.get(f"{name} {identity}", " ".join(reasons.values()))
        elif bound is None:
            status, reason = FAILED, "there is no interval"
        elif bound < limit:
            status = FAILED
        return GateCheck(status, rule, identity, value, each.low, each.high, reason)

    rules: list[tuple[str, Any, str, float]] = [(f"{n} >= {m:g}", ranges, n, m) for n, m in minima]
    if drops:
        paired = paired_report(sets, *measured, level=chosen.level)
        rules += [(f"change of {name} >= {0 - limit:g}", paired, name, -limit) for name, limit in drops]
    for rule, values, name, limit in rules:
        if name in AUCS:
            done = [check(rule, name, cells[name], limit, each) for each, cells in values.cells.items()]
        else:
            terms = {f"mean_{auc}": each for auc, each in values.power_means.items()}
            done = [check(rule, name, terms.get(name) or getattr(values, name), limit)]
        if all(each.status == SKIPPED for each in done):
            done.append(GateCheck(FAILED, rule, "", reason="no value was checked"))
        yield from done


def _files(chosen: SimpleNamespace, drops: object, minima: object) -> tuple[Path, Path]:
    """Return the solution and the predictions; raise UsageError if a limit or a file is missing."""
    if bool(drops) != (chosen.baseline is not None) or not (minima or drops):
        raise click.UsageError("Specify a limit. --max-drop and --max-identity-drop need a --baseline.")
    solution, predictions = solution_files(chosen.from_jigsaw, chosen.solution, chosen.predictions)
    if predictions is None:
        raise click.UsageError("Specify the PREDICTIONS.")
    return solution, predictions


def _checks_of_any(chosen: SimpleNamespace) -> Iterator[GateCheck]:
    """Check the score of a metric other than that of bias, with intervals of the normal distribution."""
    from grader.files import read_submission
    from grader.metrics.interface import Direction
    from grader.metrics.row_statistics import paired_difference, standard_error

    limits = [each for each in (chosen.min_score, chosen.max_score) if each is not None]
    solution, predictions = _files(chosen, chosen.max_drop is not None, limits)
    prepared = read_for(solution, chosen)
    is_lowest_best = prepared.description.direction is Direction.LOWEST
    if (chosen.min_score if is_lowest_best else chosen.max_score) is not None:
        right = "--max-score" if is_lowest_best else "--min-score"
        raise click.UsageError(f"The {prepared.description.direction} score is the best. Use {right}.")
    if chosen.split not in prepared.splits:
        raise click.ClickException(f"The solution has no rows in the split {chosen.split}.")
    measured = []
    for path in filter(None, [predictions, chosen.baseline]):
        click.echo(f"Reading {path}", err=True)
        file = read_submission(csv_of(path), prepared.table.row_ids, wanted=prepared.columns)
        measured.append(prepared.measured(file, chosen.split))
    z = NormalDist().inv_cdf((1 + chosen.level) / 2)
    sign, relation = (-1, "<=") if is_lowest_best else (1, ">=")

    def check(rule: str, value: float, error: float, limit: float) -> GateCheck:
        low, high = value - z * error, value + z * error
        bound = {"value": value, "lower": low, "upper": high}[chosen.decide_by]
        return GateCheck(FAILED if sign * (bound - limit) < 0 else PASSED, rule, "", value, low, high)

    for limit in limits:
        error = standard_error(measured[0].rows)
        yield check(f"score {relation} {limit:g}", measured[0].score, error, limit)
    if chosen.max_drop is not None:
        change, limit = paired_difference(*measured), -sign * chosen.max_drop
        yield check(f"change of score {relation} {0 + limit:g}", change.value, change.standard_error, limit)


def _shown(value: str | float | None) -> str:
    """Format a value without control characters, which XML does not allow and terminals interpret."""
    text = f"{value:.5f}" if isinstance(value, float) else value or ""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _junit(checks: list[GateCheck], failed: int) -> bytes:
    skipped = sum(check.status == SKIPPED for check in checks)
    counts = {"tests": len(checks), "failures": failed, "errors": 0, "skipped": skipped}
    suite = ET.Element("testsuite", {"name": "fairboard gate"} | {key: str(n) for key, n in counts.items()})
    for check in checks:
        name = _shown(check.identity or "all rows")
        case = ET.SubElement(suite, "testcase", classname=check.rule, name=name)
        if check.status != PASSED:
            sentence = f"value {check.value}, interval {check.low} to {check.high}. "
            text = _shown(("" if check.value is None else sentence) + check.reason).strip()
            ET.SubElement(case, "failure" if check.status == FAILED else "skipped", message=text)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))
