"""CPU from the wish to the plan, for the largest batches we promise."""

from batches.plan import load_plan
from tests.bench.measure import measured
from tests.bench.report import Row
from tests.bench.rows import Edges, bench_workspace, chain, graph, make_batch, make_tasks, star

TASKS = 10_000
SHAPES = (("chain", chain), ("graph", graph), ("star", star))
GOAL_S = 2.0


def run() -> list[Row]:
    return [_row(name, shape(TASKS)) for name, shape in SHAPES]


def _row(name: str, edges: Edges) -> Row:
    with bench_workspace() as workspace:
        make_tasks(workspace, TASKS, edges)
        with measured() as creation:
            batch = make_batch(workspace)
        with measured() as loading:
            load_plan(batch)
    return {
        "shape": name,
        "tasks": TASKS,
        "create CPU s": creation.cpu_s,
        "queries": creation.queries,
        "load CPU s": loading.cpu_s,
        "load queries": loading.queries,
        "together s": creation.cpu_s + loading.cpu_s,
        "goal s": GOAL_S,
    }
