"""Texts and tables of the rescoring pages: progress, settings, difference, suggested message."""

import json
from collections.abc import Iterator
from typing import Any

from grader.models import ScoringVersion
from grader.services.competitions.metric import Rules
from grader.services.rescoring.difference import Preview
from grader.services.rescoring.preparation import Progress
from webapp.presentation import formats

SHOWN_DIGITS = 12  # of the hash of a metric.py


def progress_sentence(progress: Progress) -> str:
    """Return the progress of a scoring version as a sentence."""
    done = f"{progress.finished:,} of {formats.counted(progress.total, 'submission')} scored."
    return done if progress.is_final else f"{done} Workers score the rest automatically."


def changed(live: ScoringVersion, new: Rules) -> list[tuple[str, str, str]]:
    """Return the metric settings that differ from those of a version: name, before, after."""
    before, after = dict(_settings(Rules.of(live))), dict(_settings(new))
    names = [*after, *(words for words in before if words not in after)]
    changes = ((words, before.get(words, ""), after.get(words, "")) for words in names)
    return [(words, old, new) for words, old, new in changes if old != new]


def _settings(rules: Rules) -> Iterator[tuple[str, str]]:
    metric, formula = rules.metric, rules.metric.formula
    about = metric.describe()  # the groups in the score may not be known yet
    yield "Metric", about.title
    yield "Identities in the score", ", ".join(rules.identities)
    yield "Power", f"{formula.power:g}"
    for term in about.terms:
        if term.weight is not None:
            yield f"Weight of {term.heading or term.title}", f"{term.weight:g}"
    yield "Label threshold", f"{formula.label_threshold:g}"
    yield "Identity threshold", f"{formula.identity_threshold:g}"
    yield "metric.py", (metric.source or "")[:SHOWN_DIGITS]
    yield "Arguments of metric.py", json.dumps((metric.python or {}).get("arguments", {}))
    yield "Positive class", metric.positive or "".join(metric.classes[-1:])
    yield "Places that count", f"{metric.cutoff}"
    yield "Prediction column", metric.prediction
    yield "Decimals", f"{metric.decimals}"
    yield "Weight of the overall value", f"{metric.weight:g}"
    yield "Groups in the score", ", ".join(" = ".join(each) for each in metric.scored_groups)
    yield "Reported metrics", ", ".join(metric.reported)


def difference_tables(found: Preview) -> dict[str, Any]:
    """Return the tables of the difference page beside the read model."""
    versions = found.versions
    specs = Rules.of(versions.after).about.terms
    names = {spec.name: spec.heading or spec.title for spec in specs}
    scales = versions.before.scale, versions.after.scale
    return {
        "score_texts": [lambda score, own=own: own.text(own.units(score)) for own in scales],
        "means": [
            (
                split,
                [(names.get(name, name), *pair, _signed(*pair)) for name, pair in means.items()],
            )
            for split, means in found.means.items()
            if means
        ],
    }


def _signed(before: float, after: float) -> str:
    return f"{after - before:+.4f}" if round(after - before, 4) else "0"


def suggested_notice(version: ScoringVersion, competition_title: str) -> str:
    """Return the suggested message to participants."""
    return (
        f"The scores of {competition_title} now use scoring version {version.number}. {version.reason}\n\n"
        "Your files did not change, and the rescoring did not use any of your submissions."
    )
