"""The workspace's recipe: set-up commands that were offered, and what a person has decided."""

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from batches.models import RecipeCommand, Run
from batches.models.recipe import Decision
from batches.provisioning.setup_command import MOST_COMMANDS, SetupRefused, parse_setup
from batches.provisioning.setup_policy import policy
from tasks.audit import audit
from tasks.errors import Conflict, NotFound, ValidationFailed
from tasks.events import types
from tasks.events.log import NewEvent, record
from tasks.models import Workspace
from tasks.text import clip, stored

MOST_WAITING = 50


def offer_commands(*, run: Run, workspace: Workspace, texts: Sequence[str]) -> list[str]:
    """What an agent declares, kept for a person to decide and never replayed before that.

    Gives a sentence for each that is refused. What was decided before stays decided.
    """
    problems, allowed = [], []
    for text in dict.fromkeys(texts[:MOST_WAITING]):
        if stored(text) != text:
            problems.append("a command with a key or password in it is not kept")
            continue
        try:
            allowed.append(parse_setup(text, policy()).text)
        except SetupRefused as refused:
            problems.append(str(refused))
    with transaction.atomic():
        known = set(
            RecipeCommand.objects.filter(workspace=workspace).values_list("text", flat=True)
        )
        room = MOST_WAITING - _waiting(workspace)
        fresh = [text for text in allowed if text not in known][: max(0, room)]
        for text in fresh:
            RecipeCommand.objects.create(workspace=workspace, text=text, run=run)
        record(
            workspace_id=workspace.id,
            events=[_event(text, Decision.OFFERED, "agent", run) for text in fresh],
        )
    return problems


def add_command(*, workspace: Workspace, text: str, by: str) -> RecipeCommand:
    """A person's own command is approved with that. Raises ValidationFailed and Conflict."""
    try:
        text = parse_setup(text, policy()).text
    except SetupRefused as refused:
        raise ValidationFailed(str(refused)) from refused
    with transaction.atomic():
        row, _ = RecipeCommand.objects.get_or_create(workspace=workspace, text=text)
        _decide(row, Decision.APPROVED, by)
    return row


def decide_command(*, command: RecipeCommand, decision: Decision, by: str) -> None:
    """Raises Conflict for more than may be replayed, ValidationFailed for what is refused now."""
    if decision is Decision.APPROVED:
        try:
            parse_setup(command.text, policy())
        except SetupRefused as refused:
            raise ValidationFailed(str(refused)) from refused
    with transaction.atomic():
        _decide(command, decision, by)


def command_of(workspace: Workspace, command_id: int) -> RecipeCommand:
    """Raises NotFound."""
    row = RecipeCommand.objects.filter(workspace=workspace, id=command_id).first()
    if row is None:
        raise NotFound(f"workspace {workspace.name} has no set-up command {command_id}")
    return row


def _decide(row: RecipeCommand, decision: Decision, by: str) -> None:
    Workspace.objects.select_for_update(no_key=True).get(id=row.workspace_id)
    approved = RecipeCommand.objects.filter(
        workspace_id=row.workspace_id, decision=Decision.APPROVED
    ).exclude(id=row.id)
    if decision is Decision.APPROVED and approved.count() >= MOST_COMMANDS:
        raise Conflict(f"{MOST_COMMANDS} set-up commands are approved already; refuse one first")
    row.decision, row.decided_by, row.decided_at = decision, clip(by, 200), timezone.now()
    row.save(update_fields=["decision", "decided_by", "decided_at"])
    audit(by, "recipe.decide", row.workspace.name, {"text": row.text, "decision": decision})
    record(workspace_id=row.workspace_id, events=[_event(row.text, decision, by, row.run)])


def _waiting(workspace: Workspace) -> int:
    return RecipeCommand.objects.filter(workspace=workspace, decision=Decision.OFFERED).count()


def _event(text: str, decision: Decision, by: str, run: Run | None) -> NewEvent:
    return NewEvent(
        type=types.RECIPE_CHANGED,
        run_id=run.id if run else None,
        payload={"command": text, "decision": decision, "by": by},
    )
