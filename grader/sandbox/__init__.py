"""Sandboxed processes for organizers' functions; imports no other code of the project."""

from grader.sandbox.client import (
    CallLimits,
    CallOutcome,
    CallStatus,
    SandboxClient,
    SandboxRequest,
    SandboxUnavailable,
)
from grader.sandbox.lockdown import layers

__all__ = [
    "CallLimits",
    "CallOutcome",
    "CallStatus",
    "SandboxClient",
    "SandboxRequest",
    "SandboxUnavailable",
    "layers",
]
