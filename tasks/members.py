"""Who belongs to a workspace; each change with its audit row."""

from django.contrib.auth.models import User
from django.db import transaction

from tasks.audit import audit
from tasks.errors import NotFound
from tasks.models import Membership, Workspace
from tasks.models.membership import Role
from tasks.text import clip


def set_member(*, workspace: Workspace, user: User, role: Role, by: str) -> Membership:
    """Lets in, or changes the role of who is in."""
    with transaction.atomic():
        member, _ = Membership.objects.update_or_create(
            workspace=workspace, user=user, defaults={"role": role}
        )
        detail = {"user": user.username, "role": role}
        audit(by, "member.set", workspace.name, detail)
    return member


def remove_member(*, workspace: Workspace, user: User, by: str) -> None:
    """Raises NotFound."""
    with transaction.atomic():
        deleted, _ = Membership.objects.filter(workspace=workspace, user=user).delete()
        if not deleted:
            raise NotFound(f"{user.username} is no member of {workspace.name}")
        audit(by, "member.remove", workspace.name, {"user": user.username})


def user_named(name: str) -> User:
    """Raises NotFound."""
    user = User.objects.filter(username=name).first()
    if user is None:
        raise NotFound(f"nobody is named {clip(name, 150)!r} here")
    return user
