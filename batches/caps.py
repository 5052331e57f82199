"""The caps of a batch: whether they can be kept, set with it, and raised later."""

from decimal import Decimal
from uuid import UUID

from django.db import transaction

from batches.engines import load
from batches.errors import InvalidOptions, InvalidState
from batches.models import Batch
from batches.options import BatchOptions
from batches.spending import halt_of
from costs.budgets import amount_problem, limits_of, set_cap
from costs.models import BudgetScope
from costs.pricing import is_priced
from tasks.events import types
from tasks.events.log import record_one
from tasks.models import Workspace

HINT = "; allow_unpriced lets such calls through"
KINDS = {
    "budget": (BudgetScope.BATCH, True),
    "soft_budget": (BudgetScope.BATCH, False),
    "task_budget": (BudgetScope.TASK, True),
}


def refuse_caps_that_cannot_be_kept(options: BatchOptions, workspace: Workspace) -> None:
    """Raises InvalidOptions where a cap would never fire, for nobody knows what is spent."""
    if options.allow_unpriced:
        return
    own = next((name for name in KINDS if getattr(options, name) is not None), "")
    if not own and not limits_of([workspace.id]):
        return
    problem = _unpriced(options)
    if problem:
        name = own or "allow_unpriced"
        sentence = problem + (HINT if own else f", and the workspace has a spending limit{HINT}")
        raise InvalidOptions(f"{name}: {sentence}", fields={name: [sentence]})


def _unpriced(options: BatchOptions) -> str:
    """Why what is spent would not be known; empty when it will be, as far as one can tell."""
    kind = str(options.engine_options.get("kind", options.engine))
    engine = load(kind)
    if engine.parser(options.engine_options, model=options.model) is None:
        return f"the engine {options.engine} does not report what it uses"
    usage = options.engine_options.get("usage") or {}
    if usage.get("cost") or "?P<cost>" in str(usage.get("pattern", "")):
        return ""
    if options.model and not is_priced(options.model, engine.provider_of(options.model)):
        return f"no price is known for the model {options.model}"
    if kind == "command" and not options.model and not usage.get("model"):
        return "without a model no price is known"
    return ""


def set_caps(batch: Batch, options: BatchOptions) -> None:
    for name, (scope, hard) in KINDS.items():
        usd = getattr(options, name)
        if usd is not None:
            set_cap(scope, batch.id, usd, hard=hard)


def change_caps(batch_id: UUID, changes: dict[str, Decimal | None], *, by: str = "") -> None:
    """At any time, also while it runs; None takes a cap away. Raises InvalidOptions."""
    for name, usd in changes.items():
        problem = amount_problem(usd) if usd is not None else None
        if problem:
            raise InvalidOptions(f"{name}: {problem}", fields={name: [problem]})
    with transaction.atomic():
        batch = Batch.objects.select_for_update(no_key=True).get(id=batch_id)
        for name, usd in changes.items():
            scope, hard = KINDS[name]
            set_cap(scope, batch.id, usd, hard=hard)
        if "budget" in changes:
            Batch.objects.filter(id=batch.id).update(budget=changes["budget"])
        told = {name: None if usd is None else float(usd) for name, usd in changes.items()}
        record_one(
            workspace_id=batch.workspace_id,
            type=types.BATCH_BUDGET,
            batch_id=batch.id,
            payload={"changed": told, "by": by},
        )


def refuse_spent(batch: Batch) -> None:
    """Nothing would be launched: raises InvalidState, which says which cap to raise."""
    halt = halt_of(batch)
    if halt is not None:
        raise InvalidState(f"{halt.sentence} Raise it to go on.")
