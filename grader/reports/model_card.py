"""Model card of a candidate: Markdown with the metadata of the Hugging Face Hub (`model-index`)."""

import json
from importlib.resources import files

from grader.metrics.bias.subgroups import BIAS_AUCS
from grader.reports.bakeoff import Bakeoff
from grader.reports.blocks import number, share
from grader.reports.scored import WORDS, interval
from grader.text import in_markdown, markdown_table


def model_card(bakeoff: Bakeoff, comments: str) -> str:
    """Return the card of the best candidate; `comments` is the name of the evaluation data."""
    report, rates = bakeoff.reports[bakeoff.best], bakeoff.rates[bakeoff.best]
    terms = report.terms
    types, values = {"overall_auc": "roc_auc"}, {n: each.value for n, each in terms.items()}
    metrics = [
        {"type": types.get(n, n), "name": WORDS[n], "value": v} for n, v in values.items() if v is not None
    ]
    result = {"task": {"type": "text-classification"}, "dataset": {"type": "private", "name": comments}}
    index = [{"name": bakeoff.best, "results": [result | {"metrics": metrics}]}]
    lines = [["Identity", "Comments", "Positive", *(WORDS[auc] for auc in BIAS_AUCS), "FPR", "FNR"]]
    for line in report.report.subgroups:
        aucs = (number(getattr(line, auc)) for auc in BIAS_AUCS)
        sizes = f"{line.size:,}", f"{line.positives:,}"
        lines.append([line.name, *sizes, *aucs, *map(share, rates[line.name])])
    shown = [(WORDS[term], number(each.value), interval(each, 3)) for term, each in terms.items()]
    template = files("grader.reports").joinpath("model_card.md").read_text(encoding="utf-8")
    return template.format(
        bakeoff=bakeoff,
        curve=bakeoff.curves[bakeoff.best],
        name=in_markdown(bakeoff.best),
        comments=in_markdown(comments),
        label=in_markdown(bakeoff.inputs.label),
        share=share(bakeoff.harmful_share),
        index=json.dumps(index, ensure_ascii=False),  # JSON is valid YAML.
        terms=markdown_table([("Term", "Value", f"{report.level:.0%} interval"), *shown]),
        sentences=in_markdown(" ".join(bakeoff.sentences())),
        rates=[*map(share, rates[""])],
        identities=markdown_table(lines),
    )
