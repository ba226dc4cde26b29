"""Mail to teams when the private leaderboard is revealed: their rank and score."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Split, Standing, Team, TeamMember, User
from grader.services.competitions import lookup
from grader.services.mail import outbox
from grader.services.standings import places


def write(session: Session, *, competition: Competition, now: datetime) -> None:
    """Write one e-mail to each member with a confirmed address of a team on the private leaderboard."""
    version_id = lookup.live(competition).id
    readers = session.execute(
        select(User, Team.id, Team.name)
        .join(TeamMember, TeamMember.user_id == User.id)
        .join(Team, Team.id == TeamMember.team_id)
        .join(Standing, Standing.team_id == Team.id)
        .where(
            TeamMember.competition_id == competition.id,
            Standing.scoring_version_id == version_id,
            Standing.split == Split.PRIVATE,
            User.email_verified_at.is_not(None),
        )
        .order_by(User.id)
    ).all()
    if not readers:
        return
    private, public = (
        places.ranks(session, scoring_version_id=version_id, split=split)
        for split in (Split.PRIVATE, Split.PUBLIC)
    )
    letters = (
        (
            user,
            f"The private leaderboard of {competition.title} is revealed. Your team {team} is ranked "
            f"{private[team_id]:,} of {len(private):,}{_before(public.get(team_id))}. The standings are "
            "provisional until the organizers make them final.\n\n"
            f"The results of your submissions: {outbox.SITE}/competitions/{competition.slug}/results\n",
        )
        for user, team_id, team in readers
    )
    outbox.notify_each(
        session,
        letters=letters,
        kind=outbox.Notice.RESULTS,
        key=f"results:{competition.id}",
        subject=f"{competition.title}: the private leaderboard is revealed",
        now=now,
    )


def _before(public_rank: int | None) -> str:
    """Return the rest of the sentence, nothing where no public leaderboard was shown."""
    return f"; on the public leaderboard it was ranked {public_rank:,}" if public_rank else ""
