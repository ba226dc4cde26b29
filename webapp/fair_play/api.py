"""API for organizers: signs of probing and similar files, with their evidence."""

from grader.models import Role
from webapp.fair_play.answers import FairPlay
from webapp.http.api import blueprint
from webapp.http.organizer_operations import DESK, organizers_operation

TAG = "fair play"
HERE = f"{DESK}/fair-play"


@blueprint.get(HERE)
@organizers_operation(Role.VIEWER, answers=FairPlay, tag=TAG)
def fair_play(slug: str) -> FairPlay:
    """Return what may be worth a look."""
    return FairPlay(competition=slug)
