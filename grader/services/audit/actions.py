"""Names of the audited actions, and how the audit page words each.

`audit.record` takes no other: whoever adds an act adds its words here.
"""

# Read after the name of who acted; `{}` is the entry's subject.
WORDS = {
    "accounts.create": "created {} for a class",
    "administrator.make": "made {} an administrator of the site",
    "administrator.unmake": "removed {} as an administrator of the site",
    "announcement.edit": "edited {}",
    "announcement.post": "posted {}",
    "announcement.withdraw": "withdrew {}",
    "bundle.start": "created the {}",
    "competition.archive": "archived {}",
    "competition.change": "changed the {}",
    "competition.clone": "created {} as a copy of another",
    "competition.create": "created {}",
    "competition.delete": "deleted {}",
    "competition.finalize": "made the standings of {} final",
    "competition.publish": "published {}",
    "competition.reveal": "revealed the private leaderboard of {}",
    "competition.unarchive": "unarchived {}",
    "data.allow": "released the {} although it was held back",
    "data.hold": "holds the {} back",
    "data.remove": "removed the {}",
    "data.upload": "uploaded the {}",
    "diagnosis.publish": "published the diagnosis of {}",
    "diagnosis.start": "diagnosed {}",
    "dispute.answer": "answered a question about {}",
    "entry.admit": "admitted {}",
    "entry.refuse": "refused {}",
    "fair_play.mark": "looked at {} for fair play and found nothing wrong",
    "fair_play.start": "looked at the submissions for fair play, under {}",
    "figure.remove": "removed the {}",
    "figure.upload": "uploaded the {}",
    "grant.give": "gave extra submissions to {}",
    "organizer.add": "added {}",
    "organizer.change": "changed the role of {}",
    "organizer.remove": "removed {}",
    "rescoring.drop": "cancelled the preparation of {}",
    "rescoring.prepare": "started to prepare {}",
    "rescoring.publish": "published {}",
    "rescoring.roll_back": "rolled back to {}",
    "selection.reopen": "reopened the {}",
    "solution.accept": "accepted {}",
    "solution.check": "uploaded a solution, for {}",
    "solution.publish": "published {} to everybody",
    "submission.benchmark": "added {} as a benchmark",
    "submission.mark": "changed the kind of {}",
    "submission.retry": "retried {}",
    "submissions.pause": "paused {}",
    "submissions.resume": "resumed {}",
    "team.disqualify": "disqualified {}",
    "team.free_name": "allowed {} to choose its name",
    "team.reinstate": "reinstated {}",
    "team.rename": "renamed {}",
    "ties.publish": "published which teams are tied, under {}",
    "ties.start": "compared neighbouring teams on the leaderboards, under {}",
    "verification.start": "verified the competing submissions, under {}",
    "webhook.change": "changed {}",
    "webhook.create": "created {}",
    "webhook.delete": "deleted {}",
    "webhook.rotate": "gave a new secret to {}",
}


class UnknownAction(ValueError):
    """An act without words: nobody could read it in the audit."""

    def __init__(self, action: str) -> None:
        super().__init__(f"The audit has no words for the action {action!r}.")


def require_known(action: str) -> None:
    """Raise UnknownAction for an action without words."""
    if action not in WORDS:
        raise UnknownAction(action)


def label(action: str) -> str:
    """Return the words of an action without a subject, to choose it by."""
    return told(action, "…")


def told(action: str, subject: str) -> str:
    """Return what was done, to follow the name of who did it: ``renamed team Foxes``."""
    words = WORDS.get(action)  # an act of an older version may be known no more
    return f"{action}: {subject}" if words is None else words.replace("{}", subject)
