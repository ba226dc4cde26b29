"""Everything that an organizer chooses about a competition, in one flat table, and changing it.

Pages, files and clones speak of these names; `conditions` and `metric_choice` keep what they mean.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from grader.leaderboard.visibility import Feedback, Phase
from grader.metrics import MetricSettings
from grader.models import Competition, CompetitionState, EntryMode, RevealRule, ScoringVersionState
from grader.services import audit, competitions, metric_choice
from grader.services import conditions as conditions_of
from grader.services.audit import Actor
from grader.services.conditions import Conditions, InvalidCompetition
from grader.services.metric_choice import MIN_CLASS_ROWS, MetricChoice
from grader.services.settings_changes import as_json, public_text
from grader.services.texts import one_line

TITLE_MAX_LENGTH = 200
TEXT_MAX_LENGTH = 20_000
RULES_MAX_LENGTH = 50_000
CLASS_NAME_MAX_LENGTH = 64
LINK_MAX_LENGTH = 500
MAX_IDENTITIES = 1000

TEXTS = {
    "overview": "overview",
    "evaluation": "text on the evaluation",
    "data_description": "text on the data",
    "rules": "rules",
}
METRIC = ("identities", "min_class_rows", "metric")
FOLLOWING = ("entry_deadline", "merger_deadline", "reveals_at")
DATES = ("opens_at", "closes_at", *FOLLOWING)


@dataclass(frozen=True, slots=True)
class CompetitionSettings:
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
    rules: str = ""
    entry_mode: EntryMode = EntryMode.OPEN
    entry_code: str | None = None
    entry_deadline: datetime | None = None
    merger_deadline: datetime | None = None
    max_team_size: int = 5
    max_daily_submissions: int | None = 5
    max_total_submissions: int | None = None
    max_pending_submissions: int = 5
    max_hourly_rejections: int = 30
    selection_count: int = 2
    takes_late_submissions: bool = True
    reveal_rule: RevealRule = RevealRule.DATE
    reveals_at: datetime | None = None

    @property
    def conditions(self) -> Conditions:
        """The part under which people take part."""
        return Conditions(**{name: getattr(self, name) for name in conditions_of.NAMES})

    @property
    def metric_choice(self) -> MetricChoice:
        """The part that a solution is checked with."""
        return MetricChoice(self.identities, self.min_class_rows, self.metric)


NAMES = tuple(each.name for each in fields(CompetitionSettings))
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


def problems(settings: CompetitionSettings, *, is_draft: bool) -> list[str]:
    """Return one sentence for everything that is wrong with settings; a draft may lack its dates."""
    found = [*_text_problems(settings), *_metric_problems(settings)]
    opens_at, closes_at = settings.opens_at, settings.closes_at
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        found.append("A competition must close after it opens.")
    if opens_at is None and not is_draft:
        found.append("A published competition needs a time at which it opens.")
    found += conditions_of.calendar_problems({"opening": opens_at})
    earliest = opens_at or datetime.min.replace(tzinfo=closes_at.tzinfo if closes_at else None)
    dated = settings.conditions
    if opens_at is None:  # nothing of it can lie before an opening that nobody knows
        dated = replace(dated, entry_deadline=None, merger_deadline=None)
    return found + conditions_of.problems(dated, opens_at=earliest, closes_at=closes_at)


def locks(competition: Competition, now: datetime) -> dict[str, str]:
    """Return why a setting can no longer be changed, by its name; of a draft everything can."""
    if competition.state is CompetitionState.DRAFT:
        return {}
    if competition.state is CompetitionState.ARCHIVED:
        return dict.fromkeys(NAMES, "The competition is archived.")
    locked = dict.fromkeys(METRIC, "It is fixed since publishing. Changed settings are a rescoring.")
    phase = competitions.phase(competition, now)
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
    session: Session, *, competition: Competition, changes: Mapping[str, Any], actor: Actor, now: datetime
) -> frozenset[str]:
    """Change settings and return the names of those that are others now; raise InvalidCompetition.

    A draft whose metric changes loses its solution, which was checked with the other one. Changes of
    deadlines, limits and rules stand in the public log once the competition is published.
    """
    competition = competitions.lock(session, competition_id=competition.id)
    found = refusals(competition, changes, now)
    if found:
        raise InvalidCompetition(found)
    before = of(competition)
    after = _changed(before, changes)
    changed = _differing(before, after)
    is_draft = competition.state is CompetitionState.DRAFT
    if not changed:
        return changed
    apply(after, competition)
    if is_draft and changed & set(METRIC):
        _drop_solution(competition)
    session.flush()
    audit.record(
        session,
        competition=competition,
        actor=actor,
        action="competition.change",
        subject="settings",
        before=as_json(before, changed),
        after=as_json(after, changed),
        public_text="" if is_draft else public_text(before, after, changed, competition.rules_version),
        now=now,
    )
    return changed


def refusals(competition: Competition, changes: Mapping[str, Any], now: datetime) -> list[str]:
    """Return one sentence for everything that keeps a competition from being changed like this."""
    before = of(competition)
    after = _changed(before, changes)
    changed = _differing(before, after)
    is_draft = competition.state is CompetitionState.DRAFT
    found = [*_lock_problems(competition, changed, now), *problems(after, is_draft=is_draft)]
    if "closes_at" in changed and not is_draft and after.closes_at is not None and after.closes_at <= now:
        found.append("The close must lie ahead.")
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


def _differing(before: CompetitionSettings, after: CompetitionSettings) -> frozenset[str]:
    return frozenset(name for name in NAMES if getattr(before, name) != getattr(after, name))


def _clean(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes as they are stored: on one line, or with plain line ends."""
    lines = {
        "title": TITLE_MAX_LENGTH + 1,
        "contact": LINK_MAX_LENGTH + 1,
        "discussion_url": LINK_MAX_LENGTH + 1,
        "positive_name": CLASS_NAME_MAX_LENGTH + 1,
        "negative_name": CLASS_NAME_MAX_LENGTH + 1,
        "entry_code": conditions_of.ENTRY_CODE_MAX_LENGTH,
    }
    cleaned = dict(changes)
    for name in changes.keys() & lines.keys():
        cleaned[name] = one_line(changes[name] or "", lines[name])
    for name in changes.keys() & TEXTS.keys():
        cleaned[name] = changes[name].replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip()
    if "entry_code" in cleaned:
        cleaned["entry_code"] = cleaned["entry_code"] or None
    return cleaned


def _lock_problems(competition: Competition, changed: frozenset[str], now: datetime) -> Iterable[str]:
    reasons = locks(competition, now)
    for name in NAMES:
        if name in changed and name in reasons:
            yield f"The setting {name} cannot be changed any more. {reasons[name]}"


def _text_problems(settings: CompetitionSettings) -> Iterable[str]:
    if not settings.title:
        yield "A competition needs a title."
    for name, words, limit in (
        ("title", "title", TITLE_MAX_LENGTH),
        ("contact", "contact", LINK_MAX_LENGTH),
        ("discussion_url", "address of the discussion", LINK_MAX_LENGTH),
        ("positive_name", "name of the positive class", CLASS_NAME_MAX_LENGTH),
        ("negative_name", "name of the negative class", CLASS_NAME_MAX_LENGTH),
        *((name, words, TEXT_MAX_LENGTH) for name, words in TEXTS.items() if name != "rules"),
        ("rules", "text of the rules", RULES_MAX_LENGTH),
    ):
        if len(getattr(settings, name)) > limit:
            yield f"The {words} has at most {limit:,} characters."
    if not (settings.positive_name and settings.negative_name):
        yield "Both classes need a name."
    elif settings.positive_name.casefold() == settings.negative_name.casefold():
        yield f"The two classes need different names; both are {settings.positive_name!r}."
    if settings.discussion_url and not is_web_address(settings.discussion_url):
        yield "The address of the discussion must begin with https:// or http://."


def is_web_address(text: str) -> bool:
    """Tell whether a text is the address of a web page, which may become a link."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and not set(text) & set(' "<>')


def _metric_problems(settings: CompetitionSettings) -> Iterable[str]:
    yield from conditions_of.count_problems("minimum size in rows", settings.min_class_rows)
    names = settings.identities
    if names is None:
        return
    if not names:
        yield "A competition needs at least one identity in its score."
    if len(names) > MAX_IDENTITIES:
        yield f"A score has at most {MAX_IDENTITIES:,} identities; {len(names):,} were given."
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"The identity {name!r} must be named once."


def _drop_solution(competition: Competition) -> None:
    if competition.live_scoring_version is not None:
        competition.live_scoring_version.state = ScoringVersionState.DROPPED
        competition.live_scoring_version = None
