"""Python client for Fairboard servers: competitions, data files, submissions, leaderboards."""

from grader.client.client import Client
from grader.client.errors import (
    ClientError,
    LimitReached,
    NotScoredInTime,
    Refused,
    TokenRefused,
    Unreachable,
    Unusable,
)

__all__ = [
    "Client",
    "ClientError",
    "LimitReached",
    "NotScoredInTime",
    "Refused",
    "TokenRefused",
    "Unreachable",
    "Unusable",
]
