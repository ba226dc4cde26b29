"""All settings of a competition: title, texts, links, lengths; which may still change; save a change.

Pages, files and clones speak of these names; `conditions` and `metric_choice` keep what they mean.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from grader.metrics import MetricSettings
from grader.models import Competition, CompetitionState, EntryMode, RevealRule, ScoringVersionState
from grader.services.audit import log
from grader.services.audit.log import Actor
from grader.services.competitions import conditions as conditions_of
from grader.services.competitions import lookup, phases
from grader.services.competitions import metric as metric_choice
from grader.services.competitions.conditions import Conditions, Fault, InvalidCompetition
from grader.services.competitions.metric import MIN_CLASS_ROWS, MetricChoice
from grader.services.competitions.settings_log import as_json, public_text
from grader.text.plain import one_line
from grader.visibility import Feedback, Phase

TITLE_MAX_LENGTH = 200
TEXT_MAX_LENGTH = 20_000
RULES_MAX_LENGTH = 50_000
CLASS_NAME_MAX_LENGTH = 64
LINK_MAX_LENGTH = 500
MAX_IDENTITIES = 1000

METRIC_IS_FIXED = "It is fixed since publishing. Changed settings are a rescoring."
METRIC = ("identities", "min_class_rows", "metric")
FOLLOWING = conditions_of.DATES
DATES = ("opens_at", "closes_at", *FOLLOWING)
WORDS = (
    conditions_of.DATE_WORDS
    | {
        "title": "title",
        "overview": "overview",
        "evaluation": "text on the evaluation",
        "data_description": "text on the data",
        "positive_name": "name of the positive class",
        "negative_name": "name of the negative class",
        "contact": "contact",
        "discussion_url": "address of the discussion",
        "feedback": "feedback",
        "identities": "choice of identities",
        "min_class_rows": "minimum size in rows",
        "metric": "formula of the metric",
        "rules": "text of the rules",
        "entry_mode": "entry mode",
        "entry_code": "entry code",
        "takes_late_submissions": "choice of late submissions",
        "reveal_rule": "rule of the reveal",
    }
    | conditions_of.COUNT_WORDS
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitionSettings(Conditions):
    """What is chosen about a competition; the defaults are those of a new one.

    A limit of None is none; a deadline or date of reveal of None follows from the close; identities of None
    are proposed from the solution. Without `opens_at` a draft opens when it is published.
    """

    title: str = ""
    overview: str = ""
    evaluation: str = ""
    data_description: str = ""
    positive_name: str = "positive"
    negative_name: str = "negative"
    contact: str = ""
    discussion_url: str = ""
    opens_at: datetime | None = None
    closes_at: datetime | None = None
    feedback: Feedback = Feedback.OPEN
    identities: tuple[str, ...] | None = None
    min_class_rows: int = MIN_CLASS_ROWS
    metric: MetricSettings = field(default_factory=MetricSettings)

    @property
    def conditions(self) -> Conditions:
        """The part under which people take part."""
        return Conditions(**{name: getattr(self, name) for name in conditions_of.NAMES})

    @property
    def metric_choice(self) -> MetricChoice:
        """The part that a solution is checked with."""
        return MetricChoice(self.identities, self.min_class_rows, self.metric)


NAMES = tuple(each.name for each in fields(CompetitionSettings))
_TEXTS = frozenset({"overview", "evaluation", "data_description", "rules"})
_MAX_LENGTHS = {
    "title": TITLE_MAX_LENGTH,
    "contact": LINK_MAX_LENGTH,
    "discussion_url": LINK_MAX_LENGTH,
    "positive_name": CLASS_NAME_MAX_LENGTH,
    "negative_name": CLASS_NAME_MAX_LENGTH,
    "overview": TEXT_MAX_LENGTH,
    "evaluation": TEXT_MAX_LENGTH,
    "data_description": TEXT_MAX_LENGTH,
    "rules": RULES_MAX_LENGTH,
    "entry_code": conditions_of.ENTRY_CODE_MAX_LENGTH,
}
_LINES = frozenset(_MAX_LENGTHS) - _TEXTS
_COLUMNS = tuple(name for name in NAMES if name not in METRIC and name not in conditions_of.NAMES)


def of(competition: Competition) -> CompetitionSettings:
    """Return what is chosen; dates that are those that follow from the close are None."""
    chosen = {name: getattr(competition, name) for name in (*_COLUMNS, *conditions_of.NAMES)}
    if competition.closes_at is not None and competition.opens_at is not None:
        usual = conditions_of.with_dates(
            Conditions(), opens_at=competition.opens_at, closes_at=competition.closes_at
        )
        chosen |= {name: None for name in FOLLOWING if chosen[name] == getattr(usual, name)}
    metric = metric_choice.of(competition)
    return CompetitionSettings(
        **chosen, identities=metric.identities, min_class_rows=metric.min_class_rows, metric=metric.metric
    )


def problems(settings: CompetitionSettings, *, is_draft: bool) -> list[Fault]:
    """Return everything that is wrong with settings; a draft may lack its dates."""
    found = [*_text_problems(settings), *_metric_problems(settings)]
    opens_at, closes_at = settings.opens_at, settings.closes_at
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        found.append(Fault("A competition must close after it opens.", ("closes_at", "opens_at")))
    if opens_at is None and not is_draft:
        found.append(Fault("A published competition needs a time at which it opens.", ("opens_at",)))
    found += conditions_of.calendar_problems({"opens_at": opens_at})
    earliest = opens_at or datetime.min.replace(tzinfo=UTC)  # nothing lies before an opening nobody knows
    return found + conditions_of.problems(settings.conditions, opens_at=earliest, closes_at=closes_at)


def sentences(faults: Iterable[Fault], *, unread: Collection[str] = ()) -> list[str]:
    """Return the sentences of faults, but of none that is about a setting that could not be read."""
    return [fault.sentence for fault in faults if not set(fault.names) & set(unread)]


def locks(competition: Competition, now: datetime) -> dict[str, str]:
    """Return why a setting can no longer be changed, by its name; of a draft everything can."""
    if competition.state is CompetitionState.DRAFT:
        return {}
    if competition.state is CompetitionState.ARCHIVED:
        return dict.fromkeys(NAMES, "The competition is archived.")
    locked = dict.fromkeys(METRIC, METRIC_IS_FIXED)
    phase = phases.phase(competition, now)
    if phase is Phase.SCHEDULED:
        return locked
    locked["opens_at"] = "The competition has opened."
    locked["feedback"] = "It is fixed since the opening: what teams have seen cannot be taken back."
    if phase is not Phase.OPEN:
        over = "The competition is over."
        locked |= dict.fromkeys(("closes_at", "entry_deadline", "merger_deadline", "selection_count"), over)
    if phase is Phase.REVEALED:
        locked |= dict.fromkeys(("reveal_rule", "reveals_at"), "The private leaderboard is revealed.")
    return locked


def change(
    session: Session,
    *,
    competition: Competition,
    changes: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
    now: datetime,
) -> frozenset[str]:
    """Change settings and return the names of those that are others now; raise InvalidCompetition.

    Dates that nobody chose follow the close. A draft whose metric changes loses its solution, which was
    checked with the other one. People must accept changed rules before their next upload. Changes of
    deadlines, limits and rules stand in the public log once the competition is published.
    """
    competition = lookup.lock(session, competition_id=competition.id)
    found = refusals(competition, changes, now)
    if found:
        raise InvalidCompetition(sentences(found))
    before, before_shown = of(competition), _shown(competition)
    after = _changed(before, changes)
    changed = _differing(before, after)
    is_draft = competition.state is CompetitionState.DRAFT
    if not changed:
        return changed
    apply(after, competition)
    if is_draft and changed & set(METRIC):
        _drop_solution(competition)
    session.flush()
    after_shown = _shown(competition)
    told = changed | _differing(before_shown, after_shown)
    log.record(
        session,
        competition=competition,
        actor=actor,
        action="competition.change",
        subject="settings",
        before=as_json(before_shown, told),
        after=as_json(after_shown, told),
        reason=reason,
        public_text=""
        if is_draft
        else public_text(before_shown, after_shown, told, competition.rules_version),
        now=now,
    )
    return changed


def refusals(competition: Competition, changes: Mapping[str, Any], now: datetime) -> list[Fault]:
    """Return everything that keeps a competition from being changed like this."""
    before = of(competition)
    after = _changed(before, changes)
    changed = _differing(before, after)
    is_draft = competition.state is CompetitionState.DRAFT
    found = [*_lock_problems(competition, changed, now), *problems(after, is_draft=is_draft)]
    is_past = "closes_at" in changed and after.closes_at is not None and after.closes_at <= now
    if is_past and not is_draft:
        told = f"The close must lie ahead; {after.closes_at:%Y-%m-%d %H:%M} UTC was given."
        found = [fault for fault in found if fault.names[0] != "closes_at"]
        found.append(Fault(told, ("closes_at",)))
    return found


def cleaned(settings: CompetitionSettings) -> CompetitionSettings:
    """Return settings as they are stored: names on one line, texts with plain line ends."""
    return replace(settings, **_clean({name: getattr(settings, name) for name in NAMES}))


def apply(settings: CompetitionSettings, competition: Competition) -> None:
    """Give a competition its settings, unchecked; dates follow from the close once both are known."""
    for name in _COLUMNS:
        setattr(competition, name, getattr(settings, name))
    if competition.state is CompetitionState.DRAFT:
        competition.draft_metric = settings.metric_choice.as_dict()
    conditions_of.apply(settings.conditions, competition)
    if competition.state is CompetitionState.DRAFT:
        competition.rules_version = 1
    settle_dates(competition)


def settle_dates(competition: Competition) -> None:
    """Fill in the dates that follow from the close, where opening and close are known."""
    if competition.opens_at is None:
        return
    dated = conditions_of.with_dates(
        conditions_of.of(competition), opens_at=competition.opens_at, closes_at=competition.closes_at
    )
    for name in FOLLOWING:
        setattr(competition, name, getattr(dated, name))


def _changed(before: CompetitionSettings, changes: Mapping[str, Any]) -> CompetitionSettings:
    """Return settings with changes, and without what belongs to a choice that they undo."""
    after = replace(before, **_clean(changes))
    if after.entry_mode is not EntryMode.CODE and "entry_code" not in changes:
        after = replace(after, entry_code=None)
    if after.reveal_rule is RevealRule.ORGANIZER and "reveals_at" not in changes:
        after = replace(after, reveals_at=None)
    return after


def _shown(competition: Competition) -> CompetitionSettings:
    """Return the settings with the dates that hold, chosen or not."""
    return replace(of(competition), **{name: getattr(competition, name) for name in FOLLOWING})


def _differing(before: CompetitionSettings, after: CompetitionSettings) -> frozenset[str]:
    return frozenset(name for name in NAMES if getattr(before, name) != getattr(after, name))


def _clean(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes as they are stored: on one line, or with plain line ends."""
    cleaned = dict(changes)
    for name in changes.keys() & _LINES:
        cleaned[name] = one_line(changes[name] or "", _MAX_LENGTHS[name] + 1)
    for name in changes.keys() & _TEXTS:
        cleaned[name] = changes[name].replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip()
    if "entry_code" in cleaned:
        cleaned["entry_code"] = cleaned["entry_code"] or None
    return cleaned


def _lock_problems(competition: Competition, changed: frozenset[str], now: datetime) -> Iterable[Fault]:
    reasons = locks(competition, now)
    for name in NAMES:
        if name in changed and name in reasons:
            yield Fault(f"The {WORDS[name]} cannot be changed any more. {reasons[name]}", (name,))


def _text_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    if not settings.title:
        yield Fault("A competition needs a title.", ("title",))
    for name, limit in _MAX_LENGTHS.items():
        if len(getattr(settings, name) or "") > limit:
            yield Fault(f"The {WORDS[name]} has at most {limit:,} characters.", (name,))
    positive, negative = settings.positive_name, settings.negative_name
    classes = ("positive_name", "negative_name")
    if not (positive and negative):
        yield Fault("Both classes need a name.", classes)
    elif positive.casefold() == negative.casefold():
        yield Fault(f"The two classes need different names; both are {positive!r}.", classes)
    if settings.discussion_url and not is_web_address(settings.discussion_url):
        yield Fault("The address of the discussion must begin with https:// or http://.", ("discussion_url",))


def is_web_address(text: str) -> bool:
    """Tell whether a text is the address of a web page, which may become a link."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and not set(text) & set(' "<>')


def _metric_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    yield from conditions_of.count_problems(
        "min_class_rows", WORDS["min_class_rows"], settings.min_class_rows
    )
    names, about = settings.identities, ("identities",)
    if names is None:
        return
    if not names:
        yield Fault("A competition needs at least one identity in its score.", about)
    if len(names) > MAX_IDENTITIES:
        yield Fault(f"A score has at most {MAX_IDENTITIES:,} identities, not {len(names):,}.", about)
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Fault(f"The identity {name!r} must be named once.", about)


def _drop_solution(competition: Competition) -> None:
    if competition.live_scoring_version is not None:
        competition.live_scoring_version.state = ScoringVersionState.DROPPED
        competition.live_scoring_version = None
