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


def make_ticket(*, user_id: int, workspace_id: UUID, purpose: str) -> str:
    return signing.dumps([user_id, str(workspace_id), purpose], salt=SALT, compress=False)


def read_ticket(text: str, *, purpose: str) -> Ticket | None:
    """None for what is forged, too old, or meant for something else."""
    try:
        user_id, workspace_id, made_for = signing.loads(text, salt=SALT, max_age=TICKET_SECONDS)
        ticket = Ticket(int(user_id), UUID(workspace_id), made_for)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return ticket if ticket.purpose == purpose else None
