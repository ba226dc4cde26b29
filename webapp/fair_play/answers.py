"""The API's answers about fair play."""

from webapp.http.fields import Answer


class FairPlay(Answer):
    """What may be worth a look in a competition; only organizers see it."""

    competition: str
