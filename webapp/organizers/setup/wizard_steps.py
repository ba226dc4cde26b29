"""Order and grouping of the settings in the wizard's steps: change both here."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Step:
    """A page of settings by name, in groups with a heading each; `helps` replaces the help of some."""

    key: str
    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    helps: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All settings of the page."""
        return tuple(name for _, names in self.groups for name in names)


_FORMULA = (
    ("Power and thresholds", ("power", "label_threshold", "identity_threshold")),
    ("Weights, which sum to 1", ("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")),
)
STEPS = (
    Step(
        "basics",
        "Basics and texts",
        (
            ("", ("title", "overview", "evaluation", "data_description")),
            ("The two classes and the rows", ("positive_name", "negative_name", "row_name")),
            ("Questions", ("contact", "discussion_url")),
        ),
    ),
    Step(
        "dates",
        "Dates and limits",
        (
            ("Dates", ("opens_at", "closes_at", "entry_deadline", "merger_deadline")),
            ("The reveal", ("reveal_rule", "reveals_at", "takes_late_submissions", "marks_ties")),
            (
                "Limits per team",
                (
                    "max_daily_submissions",
                    "max_total_submissions",
                    "max_pending_submissions",
                    "max_hourly_rejections",
                    "selection_count",
                ),
            ),
        ),
        helps=dict.fromkeys(("max_daily_submissions", "max_total_submissions"), "Blank means no limit."),
    ),
    Step("entry", "Entry and teams", (("", ("entry_mode", "entry_code", "max_team_size", "rules")),)),
    Step(
        "metric",
        "Metric and feedback",
        (
            ("Identities in the score", ("identities", "min_class_rows")),
            ("What participants see before the reveal", ("feedback", "feedback_step")),
            *_FORMULA,
        ),
        helps={"identities": "One name per line. If blank, the solution check proposes them."},
    ),
)
BY_KEY = {step.key: step for step in STEPS}
# All steps of the wizard in their order: those of settings above, and three with pages of their own.
SOLUTION, DATA, PUBLISHING = "solution", "data", "publishing"
ORDER = ("basics", "dates", "entry", SOLUTION, "metric", DATA, PUBLISHING)
# The metric settings that a rescoring may change: the identities by name, and the formula.
RESCORING = Step(
    "rescoring",
    "Changed settings",
    (("Identities in the score", ("identities",)), *_FORMULA),
    helps={"identities": "One name per line."},
)
