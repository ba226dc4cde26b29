"""API for organizers: what teams share, as evidence that accuses nobody."""

from grader.models import Role
from webapp.http.api import blueprint
from webapp.http.context import competition_of, reading
from webapp.http.organizer_operations import organizers_operation
from webapp.http.site import current_site
from webapp.organizers.fair_play.api import HERE, TAG
from webapp.organizers.fair_play.same_people_answers import (
    MergedAnswer,
    MovedAnswer,
    PlaceLogins,
    SamePeopleAnswer,
    SharedByMany,
    SharedPlaceAnswer,
)
from webapp.organizers.fair_play.same_people_page import shared_by_teams


@blueprint.get(f"{HERE}/same-people")
@organizers_operation(Role.EDITOR, answers=SamePeopleAnswer, tag=TAG)
def same_people(slug: str) -> SamePeopleAnswer:
    """Return which teams share an address or a browser, who moved between teams, and which were merged.

    No address and no browser is shown. A place that many teams share says nothing, and names nobody.
    """
    site = current_site()
    with reading() as session:
        found = shared_by_teams(session, competition_of(session, slug))
    return SamePeopleAnswer(
        is_noted=site.settings.note_shared_logins,
        places=[
            SharedPlaceAnswer(
                kind=place.kind,
                has_same_file=place.has_same_file,
                logins=[
                    PlaceLogins(
                        person=each.person.name,
                        team_id=each.team.id,
                        team=each.team.name,
                        login_count=each.count,
                        first_at=each.first_at,
                        last_at=each.last_at,
                    )
                    for each in place.logins
                ],
            )
            for place in found.places
        ],
        shared_by_many=[
            SharedByMany(kind=each.kind, team_count=each.team_count, person_count=each.person_count)
            for each in found.crowds
        ],
        moved=[
            MovedAnswer(
                person=each.person.name,
                earlier_team_id=each.earlier.id,
                team_id=each.now.id,
                submission_count=each.submission_count,
                last_sent_at=each.last_sent_at,
            )
            for each in found.moved
        ],
        merged=[
            MergedAnswer(team_id=each.team.id, into_team_id=each.into.id, at=each.at) for each in found.merged
        ],
    )
