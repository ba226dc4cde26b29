"""Reading and changing the settings of a competition."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import object_session

from grader.errors import ErrorKind, OrganizerError
from grader.models import Competition, CompetitionState, EntryMode, RevealRule, ScoringVersionState, Team
from grader.services.competitions import boards, phases
from grader.services.competitions import metric as metric_choice
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.competitions.settings_model import (
    FIXED,
    FOLLOWING_DATES,
    KINDS,
    METRIC,
    NAMES,
    SECTION_SETTINGS,
    SETTINGS,
    YEARS,
    CompetitionSettings,
    Kind,
    division_names,
    usual_time,
)
from grader.services.competitions.settings_problems import (
    Fault,
    InvalidCompetition,
    problems,
    read,
)
from grader.visibility import Phase

WEEK = timedelta(days=7)
PROPOSED_LENGTH = 8 * WEEK
_COLUMNS = tuple(name for name in NAMES if name not in METRIC)
_PHASES = tuple(Phase)


def _as_json(settings: CompetitionSettings, names: Collection[str]) -> dict[str, Any]:
    """Return the named settings as JSON values for the audit log."""
    values = {name: getattr(settings, name) for name in sorted(names)}
    return {name: each.as_dict() if name == "metric" else each for name, each in values.items()}


def _public_text(
    before: CompetitionSettings, after: CompetitionSettings, changed: Collection[str], rules_version: int
) -> str:
    """Return the public log's text about changed settings; empty if no public setting changed."""
    sentences = [
        f"The {setting.words} changed from {_shown_value(getattr(before, name))} to "
        f"{_shown_value(getattr(after, name))}."
        for name, setting in SETTINGS.items()
        if name in changed and (setting.public or KINDS.get(name) is Kind.DATE)
    ]
    if "rules" in changed:
        sentences.append(f"The rules changed to version {rules_version}.")
    return " ".join(sentences)


def _shown_value(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%-d %b %Y, %H:%M}{f':{value:%S}' if value.second else ''} UTC"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else "; ".join(str(value or "none").splitlines())


class ChangedMeanwhile(OrganizerError):
    """Someone has changed the settings since they were read."""

    public_name = "settings_changed"
    kind = ErrorKind.CHANGED
    message = (
        "The settings have changed since you read them. Nothing was saved. Read them again and send your "
        "changes with the new ETag."
    )


def of(competition: Competition) -> CompetitionSettings:
    """Return a competition's settings, with None for dates that equal the derived ones."""
    chosen = {name: getattr(competition, name) for name in _COLUMNS}
    usual = default_dates(competition)
    chosen |= {name: None for name, moment in usual.items() if chosen[name] == moment}
    metric = metric_choice.of(competition)
    return CompetitionSettings.model_construct(
        **chosen, identities=metric.identities, min_class_rows=metric.min_class_rows, metric=metric.metric
    )


def default_dates(
    competition: Competition | CompetitionSettings, *, published_at: datetime | None = None
) -> dict[str, datetime]:
    """Return the dates derived from the close, by name; empty unless opening and close are set.

    Entry and mergers end 7 days before the close, or at the close if the competition lasts less than 28 days.
    The private leaderboard is revealed 7 days after the close. Without an opening date, a draft opens at
    `published_at`.
    """
    opens_at, closes_at = competition.opens_at or published_at, competition.closes_at
    if opens_at is None or closes_at is None or closes_at.year not in YEARS:
        return {}
    deadline = closes_at - WEEK if closes_at - opens_at >= 4 * WEEK else closes_at
    return {"entry_deadline": deadline, "merger_deadline": deadline, "reveals_at": closes_at + WEEK}


def shown_dates(competition: Competition, now: datetime) -> dict[str, datetime]:
    """Return the derived dates to show for dates that are not set.

    A draft whose dates were never saved is proposed a close.
    """
    settings = of(competition)
    is_draft = competition.state is CompetitionState.DRAFT
    proposed: dict[str, datetime] = {}
    if is_draft and settings.closes_at is None and "dates" not in competition.saved_sections.split():
        start = settings.opens_at or now
        proposed["closes_at"] = datetime.combine(start + PROPOSED_LENGTH, usual_time("closes_at"))
    usual = default_dates(settings.changed(**proposed), published_at=now if is_draft else None)
    if settings.reveal_rule is RevealRule.ORGANIZER:
        usual.pop("reveals_at", None)
    return {name: moment for name, moment in (proposed | usual).items() if getattr(settings, name) is None}


def fill_in_dates(competition: Competition) -> None:
    """Set all missing dates to the dates derived from the close."""
    for name, moment in default_dates(competition).items():
        is_chosen = getattr(competition, name) is not None
        if not is_chosen and (name != "reveals_at" or competition.reveal_rule is RevealRule.DATE):
            setattr(competition, name, moment)


def locks(competition: Competition, now: datetime) -> dict[str, str]:
    """Return the settings that can no longer be changed and the reasons; empty for a draft."""
    if competition.state is CompetitionState.DRAFT:
        return {}
    if competition.state is CompetitionState.ARCHIVED:
        return dict.fromkeys(NAMES, "The competition is archived.")
    reached = _PHASES[: _PHASES.index(phases.phase(competition, now)) + 1]
    fixed = {name: FIXED[setting.fixed] for name, setting in SETTINGS.items() if setting.fixed}
    return {name: reason for name, (since, reason) in fixed.items() if since in reached}


def change(
    act: Act, *, changes: Mapping[str, Any], reason: str = "", is_upload: bool = False
) -> frozenset[str]:
    """Change settings and return the names of the changed ones; raise InvalidCompetition.

    Dates that were not set explicitly follow the close. If the metric of a draft changes, the draft loses its
    solution, which was checked with the previous metric. The sections of the setup page with one of the
    settings are saved, even if no value changes. Participants must accept changed rules before their next
    upload. The public log of a published competition shows changes of deadlines, limits and rules. Only
    an upload may change the file of a metric.
    """
    competition = act.competition
    if faults := refusals(competition, changes, act.now, is_upload=is_upload):
        raise InvalidCompetition(faults)
    sections = {key for key, names in SECTION_SETTINGS.items() if changes.keys() & set(names)}
    competition.saved_sections = " ".join(sorted({*competition.saved_sections.split(), *sections}))
    before, before_shown = of(competition), _shown(competition)
    after = _changed(before, read(changes)[0])
    changed = _differing(before, after)
    if not changed:
        return changed
    apply(after, competition)
    is_draft = competition.state is CompetitionState.DRAFT
    if is_draft and changed & set(METRIC) and competition.live_scoring_version is not None:
        competition.live_scoring_version.state = ScoringVersionState.DROPPED
        competition.live_scoring_version = None
    act.session.flush()
    after_shown = _shown(competition)
    logged = changed | _differing(before_shown, after_shown)
    text = _public_text(before_shown, after_shown, logged, competition.rules_version)
    act.record(
        "competition.change",
        "settings",
        before=_as_json(before_shown, logged),
        after=_as_json(after_shown, logged),
        reason=reason,
        public_text="" if is_draft else text,
    )
    return changed


def version_of(settings: CompetitionSettings) -> str:
    """Return a hash of the values, for use as an ETag."""
    values = json.dumps(_as_json(settings, NAMES), default=str)
    return hashlib.sha256(values.encode()).hexdigest()[:16]


def refusals(
    competition: Competition, changes: Mapping[str, Any], now: datetime, *, is_upload: bool = False
) -> list[Fault]:
    """Return all reasons why these changes would be rejected."""
    before = of(competition)
    valid, faults = read(changes)
    after = _changed(before, valid)
    changed = _differing(before, after)
    is_draft = competition.state is CompetitionState.DRAFT
    unread = {name for fault in faults for name in fault.names}
    others = [*_lock_problems(competition, changed, now), *problems(after, is_draft=is_draft)]
    faults += [fault for fault in others if not unread.intersection(fault.names)]
    live = competition.live_scoring_version
    if live is not None and "boards" in changed and "metric" not in changed:
        known = {fault.sentence for fault in faults}
        lacking = boards.faults(after.boards, Rules.of(live))
        faults += [Fault(each, ("boards",)) for each in lacking if each not in known]
    if not is_upload and metric_choice.is_other_file(before.metric, after.metric):
        faults.append(Fault("Upload the metric.py to change it.", ("metric",)))
    if "divisions" in changed and not faults:
        faults += _division_problems(competition, division_names(after.divisions))
    if "closes_at" in changed and not is_draft and (past := past_close(after.closes_at, now)):
        faults = [fault for fault in faults if fault.names[0] != "closes_at"] + past
    return faults


def past_close(closes_at: datetime | None, now: datetime) -> list[Fault]:
    """Return the problem of a close in the past, if any."""
    if closes_at is None or closes_at >= now:
        return []
    sentence = f"The close, {closes_at:%-d %b %Y, %H:%M} UTC, is in the past. Choose a future date."
    return [Fault(sentence, ("closes_at",))]


def apply(settings: CompetitionSettings, competition: Competition) -> None:
    """Store settings without validation; set the derived dates."""
    rules = competition.rules
    for name in _COLUMNS:
        setattr(competition, name, getattr(settings, name))
    if competition.state is CompetitionState.DRAFT:
        competition.draft_metric = settings.metric_choice.as_dict()
        competition.rules_version = 1
    elif competition.rules != rules:
        competition.rules_version += 1
    fill_in_dates(competition)


def _changed(before: CompetitionSettings, changes: Mapping[str, Any]) -> CompetitionSettings:
    """Return the settings after a change, and reset an entry code or reveal date that no longer applies."""
    after = before.changed(**changes)
    if after.entry_mode is not EntryMode.CODE and "entry_code" not in changes:
        after = after.changed(entry_code=None)
    if after.reveal_rule is RevealRule.ORGANIZER and "reveals_at" not in changes:
        after = after.changed(reveals_at=None)
    return after


def _shown(competition: Competition) -> CompetitionSettings:
    """Return the settings with the effective dates."""
    return of(competition).changed(**{name: getattr(competition, name) for name in FOLLOWING_DATES})


def _differing(before: CompetitionSettings, after: CompetitionSettings) -> frozenset[str]:
    return frozenset(name for name in NAMES if getattr(before, name) != getattr(after, name))


def _lock_problems(competition: Competition, changed: frozenset[str], now: datetime) -> Iterable[Fault]:
    reasons = locks(competition, now)
    for name in NAMES:
        if name in changed and name in reasons:
            yield Fault(f"The {SETTINGS[name].words} can no longer be changed. {reasons[name]}", (name,))


def _division_problems(competition: Competition, names: Collection[str]) -> Iterable[Fault]:
    """Yield a fault for each division with teams that would disappear."""
    query = select(Team.division).where(
        Team.competition_id == competition.id, Team.division.is_not(None), Team.division.not_in(names)
    )
    session = object_session(competition)
    for name in session.scalars(query.distinct().order_by(Team.division)) if session else ():
        yield Fault(
            f"Teams belong to the division {name!r}, so it cannot be removed. Rename it or merge it into "
            "another division on the Teams page.",
            ("divisions",),
        )
