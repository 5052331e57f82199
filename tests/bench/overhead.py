"""A whole batch of tasks that do next to nothing, beside the parts that it cannot do without."""

from pathlib import Path

from batches.jobs import execute_batch
from batches.models.batch import BatchStatus
from tests.bench.measure import Cost, measured
from tests.bench.parts import measure_parts
from tests.bench.report import Row, show
from tests.bench.rows import bench_workspace, make_batch, make_tasks

TASKS = 50
GOAL_MS = 200
AGENTS = {
    "no change": ("true",),
    "writes a file": ("sh", "-c", 'echo done > "$CODEFRAME_TASK_ID.txt"'),
}
CASES = [(agent, parallel) for agent in AGENTS for parallel in (1, 4)]
OWN_TREE = "own tree"
CLONE = "git clone --shared"


def run() -> list[Row]:
    part_rows: list[Row] = []
    started_rows: list[Row] = []
    rows = [_case(agent, parallel, part_rows, started_rows) for agent, parallel in CASES]
    show("Bare parts, CPU ms of one", part_rows)
    show("Processes and queries of one task", started_rows)
    return rows


def _case(agent: str, parallel: int, part_rows: list[Row], started_rows: list[Row]) -> Row:
    argv = AGENTS[agent]
    with bench_workspace() as workspace:
        path = Path(workspace.repo_path)
        make_tasks(workspace, TASKS)
        # Half of the parts before and half after, since the machine may be busier at one end.
        parts = measure_parts(path, argv, count=TASKS // 2, merging=parallel > 1)
        with measured() as whole:
            batch = make_batch(workspace, argv, max_parallel=parallel)
            execute_batch(batch.id)
        rest = measure_parts(path, argv, count=TASKS // 2, merging=parallel > 1)
        parts = {name: cost + rest[name] for name, cost in parts.items()}
    batch.refresh_from_db()
    assert batch.status == BatchStatus.COMPLETED, batch.message
    case: Row = {"agent": agent, "at once": parallel}
    part_rows.append(case | {name: _ms(cost.cpu_s) for name, cost in parts.items()})
    started_rows.append(case | _started(whole))
    return case | _compared(whole, parts)


def _compared(whole: Cost, parts: dict[str, Cost]) -> Row:
    row: Row = {"wall ms": _ms(whole.wall_s), "CPU ms": _ms(whole.cpu_s), "goal ms": GOAL_MS}
    for yardstick, without in ((CLONE, OWN_TREE), (OWN_TREE, CLONE)):
        chosen = [cost for name, cost in parts.items() if name != without]
        row[f"CPU to {yardstick}"] = whole.cpu_s / sum(cost.cpu_s for cost in chosen)
        row[f"wall to {yardstick}"] = whole.wall_s / sum(cost.wall_s for cost in chosen)
    return row


def _started(whole: Cost) -> Row:
    programs = sorted((name, count) for name, count in whole.seen.items() if count >= TASKS)
    return {
        "queries": whole.queries / TASKS,
        "processes": whole.processes / TASKS,
        "which": ", ".join(f"{name} {count / TASKS:.1f}" for name, count in programs),
    }


def _ms(total_s: float) -> float:
    return total_s * 1000 / TASKS
