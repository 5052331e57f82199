"""The plan of a batch that is not made: what would run, in which waves."""

import json
from collections.abc import Iterator, Sequence

from batches.admission import Admission
from batches.plan import dependency_edges
from tasks.models import Task
from tasks.planning.graph import longest_chain, waves
from tasks.text import plural


def dry_run_lines(admission: Admission, tasks: Sequence[Task], *, as_json: bool) -> Iterator[str]:
    """`tasks` are what `admission.check` chose."""
    titles = {task.id: task.title for task in tasks}
    edges = dependency_edges(titles)
    inside = {task_id: [d for d in edges.get(task_id, ()) if d in titles] for task_id in titles}
    levels = waves(inside)
    if as_json:
        yield json.dumps({"waves": [[titles[task_id] for task_id in level] for level in levels]})
        return
    for number, level in enumerate(levels, start=1):
        yield f"wave {number}: {plural(len(level), 'task')}"
        for task_id in level:
            after = ", ".join(titles[other] for other in inside[task_id])
            yield f"  {titles[task_id]}" + (f"  (after {after})" if after else "")
    length, _ = longest_chain(inside, lambda task_id: 1)
    yield f"{plural(len(titles), 'task')}, longest chain {int(length)}, {_how(admission)}"
    yield "nothing was written"


def _how(admission: Admission) -> str:
    options = admission.options
    gates = options.gates if isinstance(options.gates, str) else ", ".join(options.gates)
    parallel = options.fields()["max_parallel"]
    return f"{options.strategy}, up to {parallel} at once, engine {options.engine}, gates {gates}"
