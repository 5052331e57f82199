"""The only writer of usage and of the running sums over it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from costs.models import Usage
from costs.money import ZERO
from costs.pricing import ENGINE, Charge
from costs.sums import Change, add, changes_of


@dataclass(frozen=True, kw_only=True)
class Account:
    """Whom calls are charged to; `time_zone` is the workspace's, by which its days go."""

    workspace_id: UUID
    time_zone: str = "UTC"
    batch_id: UUID | None = None
    run_id: UUID | None = None
    task_id: UUID | None = None


def record_calls(charges: Sequence[Charge], account: Account) -> list[Charge]:
    """Those that are new: each call of a run counts once, however often it is told.

    Price them first (`pricing.price_calls`), then call this inside the transaction that records
    how far the engine's output was read, under the batch's lease.
    """
    new = _unknown(charges, account.run_id)
    if not new:
        return []
    rows = [_row(charge, account) for charge in new]
    Usage.objects.bulk_create(rows)
    changes = [change for row in rows for change in changes_of(row, account.time_zone)]
    for charge in new:
        if charge.call.settles and account.run_id:
            changes += _settle(charge, account)
    add(changes)
    return new


def _unknown(charges: Iterable[Charge], run_id: UUID | None) -> list[Charge]:
    named = {charge.call.call_id: charge for charge in charges}
    if run_id is None:
        return list(named.values())
    rows = Usage.objects.filter(run_id=run_id, call_id__in=list(named))
    known = set(rows.values_list("call_id", flat=True))
    return [charge for name, charge in named.items() if name not in known]


def _row(charge: Charge, account: Account) -> Usage:
    call, tokens = charge.call, charge.call.tokens
    return Usage(
        workspace_id=account.workspace_id,
        batch_id=account.batch_id,
        run_id=account.run_id,
        task_id=account.task_id,
        call_id=call.call_id,
        agent=call.agent,
        provider=call.provider,
        model=call.model,
        at=call.at,
        calls=call.calls,
        input_tokens=tokens.input,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
        reasoning_tokens=tokens.reasoning,
        estimated=call.estimated,
        reported_usd=call.reported_usd,
        computed_usd=charge.computed_usd,
        cost_usd=charge.cost_usd,
        price_source=charge.source,
        price_version=charge.version,
        note=call.note[:300],
    )


def _settle(charge: Charge, account: Account) -> list[Change]:
    """What was told of the model before is exact now; where only the engine knows a price, the
    one of this row covers them all, so the earlier ones cost nothing more."""
    earlier = Usage.objects.filter(run_id=account.run_id, model=charge.call.model)
    earlier = earlier.exclude(call_id=charge.call.call_id)
    loose = list(earlier.filter(estimated=True, note=""))
    uncovered = list(earlier.filter(cost_usd=None)) if charge.source == ENGINE else []
    changed = {row.id: row for row in (*loose, *uncovered)}.values()
    taken = [c.negative() for row in changed for c in changes_of(row, account.time_zone)]
    for row in changed:
        row.estimated = False
        if charge.source == ENGINE and row.cost_usd is None:
            row.cost_usd, row.price_source = ZERO, ENGINE
    Usage.objects.bulk_update(changed, ["estimated", "cost_usd", "price_source"])
    given = [c for row in changed for c in changes_of(row, account.time_zone)]
    return taken + given
