"""What people write into our pages, checked field by field."""

from typing import Any

from django import forms

from tasks.models import Task
from tasks.models.task import MAX_DESCRIPTION, MAX_TITLE, Uncertainty
from tasks.planning.importing import TaskDraft

MAX_INT = 2**31 - 1
MAX_HOURS = 100_000
MAX_ANSWER = 20_000


class TaskForm(forms.Form):
    title = forms.CharField(max_length=MAX_TITLE, help_text="What is to be done, in one line")
    description = forms.CharField(
        max_length=MAX_DESCRIPTION,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text="All that the agent needs to know, and how one sees that it is done",
    )
    priority = forms.IntegerField(
        min_value=0, max_value=MAX_INT, initial=0, help_text="0 is the highest"
    )
    estimated_hours = forms.FloatField(
        min_value=0,
        max_value=MAX_HOURS,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="Hours; empty: not estimated",
    )
    complexity_score = forms.IntegerField(
        label="Complexity", min_value=1, max_value=5, required=False, help_text="1 to 5"
    )
    uncertainty_level = forms.ChoiceField(
        label="Uncertainty", choices=[("", "not said"), *Uncertainty.choices], required=False
    )
    expects_changes = forms.BooleanField(
        label="It changes files",
        required=False,
        initial=True,
        help_text="Off: a run that changes nothing may still complete",
    )


class NewTaskForm(TaskForm):
    ready = forms.BooleanField(
        label="Ready to run", required=False, initial=True, help_text="Else it waits in the backlog"
    )

    def draft(self) -> TaskDraft:
        values = dict(self.cleaned_data)
        del values["ready"]
        values["uncertainty_level"] = values["uncertainty_level"] or None
        return TaskDraft(line=0, **values)


class EditTaskForm(TaskForm):
    """`seen` says which version was edited, so that nobody's work is written over unseen."""

    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    @classmethod
    def of(cls, task: Task, data: Any = None) -> "EditTaskForm":
        initial = {name: getattr(task, name) for name in TaskForm.base_fields}
        return cls(data, initial=initial | {"seen": task.updated_at.isoformat()})

    def changes(self) -> dict[str, Any]:
        """Only what differs from the task as it was shown."""
        names = [name for name in self.changed_data if name != "seen"]
        return {name: self.cleaned_data[name] for name in names}


class AnswerForm(forms.Form):
    answer = forms.CharField(max_length=MAX_ANSWER, widget=forms.Textarea)
