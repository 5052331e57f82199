"""The text an agent is given."""

from django.template.loader import render_to_string

from batches.models import Run
from tasks.models import Task
from tasks.models.blocker import BlockerStatus
from tasks.text import clip

OUTPUT_SHOWN = 4000


def task_prompt(run: Run, task: Task) -> str:
    """The task, answers people gave, and what went wrong in the attempt before."""
    earlier = (
        Run.objects.filter(batch_id=run.batch_id, task=task, attempt=run.attempt - 1)
        .exclude(message="")
        .first()
    )
    return render_to_string(
        "prompts/task.md",
        {
            "title": task.title,
            "description": task.description,
            "answers": task.blockers.filter(status=BlockerStatus.ANSWERED).order_by("created_at"),
            "earlier": earlier,
            "failed_gates": _failed_gates(earlier) if earlier else [],
        },
    )


def _failed_gates(run: Run) -> list[dict[str, str]]:
    gates = run.gate_records.exclude(outcome="passed")
    return [
        {
            "name": gate.name,
            "outcome": gate.outcome,
            "summary": gate.summary,
            "output_tail": clip(gate.output_tail[-OUTPUT_SHOWN:], OUTPUT_SHOWN),
        }
        for gate in gates
    ]
