"""Competition state (page and API): publish, archive, unarchive, next stage, delete a draft."""

from dataclasses import replace

from flask import Blueprint, url_for

from grader.models import Role
from grader.services.competitions import drafts, lifecycle
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import FOLLOWING_DATES
from grader.services.submissions import benchmark_entries
from grader.visibility import Visibility
from webapp.competitions import checklist, prose
from webapp.competitions.checklist import Publication
from webapp.competitions.competition_view import CompetitionView
from webapp.competitions.creating import Draft, created
from webapp.competitions.setup import organized_settings
from webapp.http.confirmation import confirm
from webapp.http.fields import Confirmation, Sent, Text
from webapp.http.organizer_operations import DESK, ConfirmedReason, Reasoned
from webapp.http.site import current_site
from webapp.presentation import formats
from webapp.surface import Ask, Surface, after_commit

blueprint = Blueprint("organize_publishing", __name__, url_prefix="/competitions/<slug>/organize/state")
STATE = Surface(blueprint, tag="setup", role=Role.VIEWER, acts=Role.OWNER)


class NextStageRequest(Sent):
    """The next stage of a competition."""

    new_slug: Text = ""
    stage_name: Text = ""
    with_data: bool = True


@STATE.read("", Publication)
def organized_state(ask: Ask) -> Publication:
    """Return the state of a competition, and the items that a draft lacks for publication."""
    return checklist.publication(ask)


def _effects_of_publication(act: Act) -> tuple[str, str, str]:
    """Describe the effects of publishing a draft."""
    usual = competition_settings.default_dates(act.competition, published_at=act.now)
    opens, closes, entry, merger, reveal = (
        getattr(act.competition, name) or usual.get(name)
        for name in ("opens_at", "closes_at", *FOLLOWING_DATES)
    )
    when = f"on {formats.moment(opens)}" if opens and opens > act.now else "immediately"
    until = f"closes on {formats.moment(closes)}" if closes else "does not close automatically"
    ends = [f"Entry ends on {formats.moment(entry)}."] if entry else []
    ends += [f"Mergers end on {formats.moment(merger)}."] if merger else []
    is_public = act.competition.visibility is Visibility.PUBLIC
    readers = "Everyone" if is_public else "Only participants and organizers"
    return (
        " ".join([f"It opens {when} and {until}.", *ends]),
        CompetitionView(act.competition, act.now).reveal_sentence(reveal),
        f"{readers} will be able to see it. Only a rescoring can then change its metric or solution.",
    )


@STATE.act(
    "/publish", back=organized_settings, form="publish", done="Competition published.", answers=Publication
)
def publish_competition(act: Act, sent: Confirmation) -> Publication:
    """Publish a draft; afterwards, only a rescoring can change its metric or solution."""
    effects = _effects_of_publication(act)
    entered = benchmark_entries.publish(act, storage=current_site().storage)
    confirm(f"Publish {act.competition.title}?", "Publish", *effects, is_final=True)
    after_commit(current_site().hints.send, entered.job_ids if entered else ())
    return checklist.publication(act)


@STATE.act(
    "/archive", back=organized_settings, form="archive", done="Competition archived.", answers=Publication
)
def archive_competition(act: Act, sent: ConfirmedReason) -> Publication:
    """Archive a competition, which stays readable but accepts no files."""
    lifecycle.archive(act, reason=sent.reason)
    words = "It will stay readable but accept no files. You can unarchive it later."
    confirm(f"Archive {act.competition.title}?", "Archive the competition", words)
    return checklist.publication(act)


@STATE.act(
    "/unarchive",
    back=organized_settings,
    form="unarchive",
    done="Competition unarchived.",
    answers=Publication,
)
def unarchive_competition(act: Act, sent: Reasoned) -> Publication:
    """Unarchive a competition."""
    lifecycle.unarchive(act, reason=sent.reason)
    return checklist.publication(act)


@STATE.act(
    "/next-stage",
    back=organized_settings,
    form="next_stage",
    done=lambda draft, **_: (
        "Created the draft of the next stage. Add its dates and solution. If the solution has other ids, "
        "replace the copied test.csv first.",
        url_for("organize_settings.show", slug=draft.slug),
    ),
    answers=Draft,
    status=201,
)
def next_stage(act: Act, sent: NextStageRequest) -> Draft:
    """Create the next stage: a draft with the same settings and organizers, without dates and solution.

    If its solution has other ids, replace the copied test.csv, or create the stage with `with_data` false.
    """
    draft = drafts.next_stage(act, slug=sent.new_slug, stage_name=sent.stage_name, with_data=sent.with_data)
    after_commit(prose.format_saved, draft.slug)
    return created(draft)


@replace(STATE, api=DESK).act(
    "",
    method="DELETE",
    back=organized_settings,
    form="delete",
    done=lambda _, slug: (f"Draft {slug} deleted.", url_for("competitions.index")),
    status=204,
)
def delete_draft(act: Act, sent: Confirmation) -> str:
    """Delete a draft with all its data."""
    slug = act.competition.slug
    drafts.delete_draft(act)
    effect = "All its data will be deleted, and its address becomes free."
    confirm(f"Delete the draft {slug}?", "Delete the draft", effect, is_final=True)
    return slug
