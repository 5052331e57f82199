"""Signed, short-lived tickets: no table, good in every web process, bound to what they open."""

from dataclasses import dataclass
from uuid import UUID

from django.core import signing

TICKET_SECONDS = 60
SALT = "codeframe.stream-ticket"


@dataclass(frozen=True)
class Ticket:
    user_id: int
    workspace_id: UUID
    purpose: str
    token_id: UUID | None = None
    """The token it was made with, whose end ends what the ticket has opened."""


def make_ticket(
    *, user_id: int, workspace_id: UUID, purpose: str, token_id: UUID | None = None
) -> str:
    parts = [user_id, str(workspace_id), purpose, str(token_id or "")]
    return signing.dumps(parts, salt=SALT, compress=False)


def read_ticket(text: str, *, purpose: str) -> Ticket | None:
    """None for what is forged, too old, or meant for something else."""
    try:
        parts = signing.loads(text, salt=SALT, max_age=TICKET_SECONDS)
        user_id, workspace_id, made_for, token_id = parts
        token = UUID(token_id) if token_id else None
        ticket = Ticket(int(user_id), UUID(workspace_id), made_for, token)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return ticket if ticket.purpose == purpose else None
