"""Mail to teams when the private leaderboard is revealed: their rank and score."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Split, Standing, Team, TeamMember, User
from grader.services.competitions import lookup
from grader.services.mail import letters, outbox
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
    bodies = (
        (
            user,
            letters.body(
                "revealed",
                competition=competition,
                team=team,
                private_rank=private[team_id],
                team_count=len(private),
                public_rank=public.get(team_id),
            ),
        )
        for user, team_id, team in readers
    )
    outbox.notify_each(
        session,
        letters=bodies,
        kind=outbox.Notice.RESULTS,
        key=f"results:{competition.id}",
        subject=letters.subject("revealed", competition=competition),
        now=now,
    )
