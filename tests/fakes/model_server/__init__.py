"""A model provider at the wire: scripted turns, faults, and a book of what it told whom."""

from tests.fakes.model_server.script import (
    Call,
    Fault,
    Script,
    Turn,
    Usage,
    cut,
    malformed,
    overloaded,
    slow,
    stall,
    status,
)
from tests.fakes.model_server.server import ModelServer, Request, model_server

__all__ = [
    "Call",
    "Fault",
    "ModelServer",
    "Request",
    "Script",
    "Turn",
    "Usage",
    "cut",
    "malformed",
    "model_server",
    "overloaded",
    "slow",
    "stall",
    "status",
]
