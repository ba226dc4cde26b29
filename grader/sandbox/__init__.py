"""Sandboxed processes for organizers' functions; imports no other code of the project."""

from grader.sandbox.client import (
    CallLimits,
    CallOutcome,
    CallStatus,
    SandboxClient,
    SandboxRequest,
    SandboxUnavailable,
)
from grader.sandbox.lockdown import Layers, layers

__all__ = [
    "CallLimits",
    "CallOutcome",
    "CallStatus",
    "Layers",
    "SandboxClient",
    "SandboxRequest",
    "SandboxUnavailable",
    "layers",
]
