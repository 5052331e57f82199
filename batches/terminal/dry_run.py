"""The plan of a batch that is not made: what would run, in which waves."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from batches.admission import Admission
from batches.plan import dependency_edges
from tasks.planning.graph import longest_chain, waves
from tasks.planning.importing import TaskDraft
from tasks.text import plural


@dataclass(frozen=True)
class Sketch:
    titles: Mapping[Hashable, str]
    edges: Mapping[Hashable, list[Hashable]]


def dry_run_lines(
    admission: Admission, drafts: Sequence[TaskDraft] | None, *, as_json: bool
) -> Iterator[str]:
    """Raises what the batch itself would: unknown tasks, cycles, unmet dependencies."""
    sketch = _of_drafts(drafts) if drafts is not None else _of_tasks(admission)
    levels = waves(sketch.edges)
    if as_json:
        plan = [[sketch.titles[node] for node in level] for level in levels]
        yield json.dumps({"waves": plan}, ensure_ascii=False)
        return
    for number, level in enumerate(levels, start=1):
        yield f"wave {number}: {plural(len(level), 'task')}"
        for node in level:
            after = ", ".join(sketch.titles[d] for d in sketch.edges[node] if d in sketch.titles)
            yield f"  {sketch.titles[node]}" + (f"  (after {after})" if after else "")
    length, _ = longest_chain(sketch.edges, lambda node: 1)
    options = admission.options
    yield (
        f"{plural(len(sketch.titles), 'task')}, longest chain {int(length)}, {options.strategy}, "
        f"up to {options.fields()['max_parallel']} at once, engine {options.engine}, "
        f"gates {options.gates}; nothing was written"
    )


def _of_tasks(admission: Admission) -> Sketch:
    tasks = admission.check()
    edges = dependency_edges(task.id for task in tasks)
    return Sketch(
        titles={task.id: task.title for task in tasks},
        edges={task.id: list(edges.get(task.id, ())) for task in tasks},
    )


def _of_drafts(drafts: Sequence[TaskDraft]) -> Sketch:
    open_drafts = {index: draft for index, draft in enumerate(drafts) if not draft.done}
    return Sketch(
        titles={index: draft.title for index, draft in open_drafts.items()},
        edges={index: list(draft.depends_on) for index, draft in open_drafts.items()},
    )
