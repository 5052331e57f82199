"""The only writer of Batch.status and Run.status; every move is a compare-and-set with its event.

Lock order everywhere: Workspace, Batch, Run, Task, then inserts. Functions that take a lease
raise Fenced, and write nothing, when another owner took the batch over.
"""

from batches.lifecycle.beginning import claim_batch, create_batch, refuse_when_busy, resume_batch
from batches.lifecycle.ending import cancel_batch, fail_batch, finish_batch
from batches.lifecycle.running import drop_runs, finish_run, retry_run, start_run, stop_run

__all__ = [
    "cancel_batch",
    "claim_batch",
    "create_batch",
    "drop_runs",
    "fail_batch",
    "finish_batch",
    "finish_run",
    "refuse_when_busy",
    "resume_batch",
    "retry_run",
    "start_run",
    "stop_run",
]
