"""GET /ready: the truth about what a batch needs: the database, the queue, a worker."""

from typing import Any

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from batches import recovery, worker_files

OLD_SECONDS = 30.0
"""A batch that could run and was not picked up for this long says that the queue stands."""


def ready(request: HttpRequest) -> JsonResponse:
    """503 until everything is there; each part says what it lacks."""
    database = _told(_database)
    parts = {"database": database, "workers": _told(_workers)}
    if not database["problem"]:
        parts["queue"] = _told(_queue)
    ok = not any(part["problem"] for part in parts.values())
    body = {"ready": ok, "parts": parts}
    return JsonResponse(body, status=200 if ok else 503, headers={"Cache-Control": "no-store"})


def _told(check: Any) -> dict[str, str]:
    try:
        return {"problem": check()}
    except (DatabaseError, OSError) as error:
        return {"problem": (str(error).splitlines() or ["no answer"])[0]}


def _database() -> str:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"{len(plan)} migrations are missing" if plan else ""


def _workers() -> str:
    return "" if worker_files.living() else "no worker runs on this machine"


def _queue() -> str:
    age = recovery.oldest_wait()
    return f"a batch has waited for {age:.0f} s" if age > OLD_SECONDS else ""
