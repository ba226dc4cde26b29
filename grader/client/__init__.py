"""Python client for Fairboard servers: competitions, data files, submissions, leaderboards."""

from grader.client.client import Client
from grader.client.errors import (
    ClientError,
    DamagedDownload,
    LimitReached,
    NotScoredInTime,
    Refused,
    ServerFailed,
    TokenRefused,
    Unreachable,
    Unusable,
)

__all__ = [
    "Client",
    "ClientError",
    "DamagedDownload",
    "LimitReached",
    "NotScoredInTime",
    "Refused",
    "ServerFailed",
    "TokenRefused",
    "Unreachable",
    "Unusable",
]
