"""What the conductor itself takes for one run from start to end, at three sizes of batch."""

from batches.context import RunContext
from batches.jobs import execute_batch
from batches.results import RunResult, completed
from tests.bench.measure import cpu_s, seen_so_far
from tests.bench.report import Row
from tests.bench.rows import bench_workspace, graph, make_batch, make_tasks

SIZES = (100, 1_000, 10_000)
PARALLEL = 4


class NoOp:
    """An attempt that takes no time and notes the first and the last look at the meters."""

    def __init__(self) -> None:
        self.looks: list[tuple[float, int]] = []
        self.count = 0

    def __call__(self, context: RunContext) -> RunResult:
        self.count += 1
        self.looks[1:] = [(cpu_s(), seen_so_far()["query"])]
        return completed()

    def per_completion(self) -> tuple[float, float]:
        """CPU ms and queries, without the batch's own beginning and end."""
        (first_cpu, first_queries), (last_cpu, last_queries) = self.looks
        between = self.count - 1
        return (last_cpu - first_cpu) * 1000 / between, (last_queries - first_queries) / between


def run() -> list[Row]:
    rows = [_row(size) for size in SIZES]
    for row in rows:
        row["times the smallest"] = row["CPU ms"] / rows[0]["CPU ms"]
    return rows


def _row(size: int) -> Row:
    noop = NoOp()
    with bench_workspace() as workspace:
        make_tasks(workspace, size, graph(size))
        batch = make_batch(workspace, max_parallel=PARALLEL)
        execute_batch(batch.id, attempt=noop)
    batch.refresh_from_db()
    assert batch.completed == noop.count == size, batch.message
    cpu_ms, queries = noop.per_completion()
    return {"tasks": size, "CPU ms": cpu_ms, "queries": queries}
