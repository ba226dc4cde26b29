"""The errors of the grader, named for who may read them. They carry data, never HTML.

A `ParticipantError` is safe to show to anybody; an `OrganizerError` may quote the solution and is shown to
organizers and operators only; every other exception is ours and is shown as an incident id.
"""


class FairboardError(Exception):
    """Base of the errors that speak to a person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ParticipantError(FairboardError):
    """Something the participant can mend; the message holds nothing hidden."""


class OrganizerError(FairboardError):
    """Something the organizer or the operator can mend; the message may quote the solution."""
