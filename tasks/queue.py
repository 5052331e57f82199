"""The one sender of Django-Q2 messages. A message only says "look at batch N".

It may come late, twice or never; the batch's row is the truth, so nothing depends on it but
latency. With the database broker the message is a row of the caller's transaction.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.signals import pre_execute
from django_q.tasks import async_task

RUN_BATCH = "batches.jobs.run_from_queue"
COLLECT = "batches.jobs.collect_garbage"


CHECK_ENGINES = "batches.jobs.check_engines"


def send_engine_check(*, host: str = "") -> None:
    """For the machine whose engines are meant."""
    async_task(CHECK_ENGINES, task_name="check engines", **({"cluster": host} if host else {}))


def send_batch(batch_id: UUID, *, host: str = "") -> None:
    """Committed together with the caller's rows, or sent just after them by other brokers.

    `host` names the machine whose own queue it goes to; empty is the queue of all.
    """
    if Conf.ORM:
        _send(batch_id, host)
    else:
        transaction.on_commit(lambda: _send(batch_id, host))


def _send(batch_id: UUID, host: str) -> None:
    where = {"cluster": host} if host else {}
    async_task(RUN_BATCH, str(batch_id), task_name=f"batch {batch_id.hex[:8]}", **where)


def send_collection(*, host: str = "") -> None:
    """A worker process of this machine tidies up; a message that is lost is sent again later."""
    where = {"cluster": host} if host else {}
    async_task(COLLECT, task_name="collect garbage", **where)


def acknowledge_at_start(sender: Any, func: Any, task: dict[str, Any], **extra: Any) -> None:
    """Takes the message off the queue before the job runs, so it is never delivered again."""
    ack_id = task.get("ack_id")
    if ack_id:
        get_broker().acknowledge(ack_id)


pre_execute.connect(acknowledge_at_start, dispatch_uid="codeframe-acknowledge")
