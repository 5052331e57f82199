"""The text an agent is given."""

from functools import cache
from pathlib import Path

from django.conf import settings
from django.template import Context, Engine, Template

from batches.models import Run
from tasks.models import Task
from tasks.models.blocker import BlockerStatus
from tasks.text import clip

OUTPUT_SHOWN = 4000


def prompt_of(run: Run, task: Task, tree: Path) -> str:
    """What is new, for an agent that goes on; else the whole task."""
    before = Run.objects.filter(id=run.continues).first() if run.continues else None
    return task_prompt(run, task) if before is None else continuation(before, task, tree)


def continuation(before: Run, task: Task, tree: Path) -> str:
    """The answers it waited for, or what was wrong with what it had done."""
    answers = task.blockers.filter(run_id=before.id, status=BlockerStatus.ANSWERED)
    facts = {
        "title": task.title,
        "tree": tree,
        "answers": list(answers.order_by("created_at")),
        "earlier": before,
        "failed_gates": _failed_gates(before),
    }
    return _template("prompts/continue.md").render(Context(facts))


def task_prompt(run: Run, task: Task) -> str:
    """The task, answers people gave, and what went wrong in the attempt before."""
    earlier = _earlier(run, task) if run.attempt > 1 else None
    facts = {
        "title": task.title,
        "description": task.description,
        "answers": task.blockers.filter(status=BlockerStatus.ANSWERED).order_by("created_at"),
        "earlier": earlier,
        "failed_gates": _failed_gates(earlier) if earlier else [],
    }
    return _template("prompts/task.md").render(Context(facts))


@cache
def _template(name: str) -> Template:
    """By an engine of its own: the pages' engine first imports every app's tags, for 0.16 s."""
    return Engine(dirs=[str(settings.BASE_DIR / "templates")]).get_template(name)


def _earlier(run: Run, task: Task) -> Run | None:
    """The attempt before, when it has something to say."""
    before = Run.objects.filter(batch_id=run.batch_id, task=task, attempt=run.attempt - 1)
    return before.exclude(message="").first()


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
