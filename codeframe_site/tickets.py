"""Signed, short-lived tickets: no table, good in every web process, bound to what they open."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken
from django.core import signing
from django.utils.crypto import salted_hmac

TICKET_SECONDS = 60
SALT = "codeframe.stream-ticket"


@dataclass(frozen=True)
class Ticket:
    user_id: int
    workspace_id: UUID
    purpose: str
    token_id: UUID | None = None
    """The token it was made with, whose end ends what the ticket has opened."""
    session: str = ""
    """The key of the session it was made in, of which the same is true."""


def make_ticket(
    *,
    user_id: int,
    workspace_id: UUID,
    purpose: str,
    token_id: UUID | None = None,
    session: str = "",
) -> str:
    """Addresses end up in logs, so the session's key is sealed in it."""
    sealed = _seal().encrypt(session.encode()).decode() if session else ""
    parts = [user_id, str(workspace_id), purpose, str(token_id or ""), sealed]
    return signing.dumps(parts, salt=SALT, compress=False)


def read_ticket(text: str, *, purpose: str) -> Ticket | None:
    """None for what is forged, too old, or meant for something else."""
    try:
        parts = signing.loads(text, salt=SALT, max_age=TICKET_SECONDS)
        user_id, workspace_id, made_for, token_id, sealed = parts
        token = UUID(token_id) if token_id else None
        session = _seal().decrypt(sealed.encode()).decode() if sealed else ""
        ticket = Ticket(int(user_id), UUID(workspace_id), made_for, token, session)
    except (signing.BadSignature, InvalidToken, ValueError, TypeError):
        return None
    return ticket if ticket.purpose == purpose else None


def _seal() -> Fernet:
    key = salted_hmac(SALT, "session", algorithm="sha256").digest()
    return Fernet(urlsafe_b64encode(key))
