"""What this app's answers look like, for the OpenAPI document; tests hold answers to it."""

from rest_framework import serializers

from batches.models.batch import BatchStatus, Isolation, Land, OnFailure, Strategy, Verification
from batches.models.run import RunStatus
from tasks.api.shapes import BlockerShape, Shape, ids, maybe, tally, text

VERIFICATIONS = ["", *Verification.values]


class RunShape(Shape):
    run_id = serializers.UUIDField()
    batch_id = serializers.UUIDField()
    task_id = maybe(serializers.UUIDField)
    title = text()
    status = serializers.ChoiceField(choices=RunStatus.values)
    reason = text(help_text="A code; docs/reliability.md")
    message = text(help_text="The reason in words")
    attempt = serializers.IntegerField()
    round = serializers.IntegerField()
    superseded = serializers.BooleanField(help_text="A later attempt took its place")
    stage = text()
    verification = serializers.ChoiceField(choices=VERIFICATIONS)
    verification_reason = text()
    files_changed = serializers.IntegerField()
    insertions = serializers.IntegerField()
    deletions = serializers.IntegerField()
    commit = text()
    exit_code = maybe(serializers.IntegerField)
    last_line = text()
    output_bytes = serializers.IntegerField()
    cost_usd = maybe(serializers.FloatField, help_text="Null: no price is known")
    created_at = serializers.DateTimeField()
    started_at = maybe(serializers.DateTimeField)
    completed_at = maybe(serializers.DateTimeField)
    duration_s = maybe(serializers.FloatField)


class StageShape(Shape):
    name = text()
    outcome = text()
    detail = text()
    deadline_s = maybe(serializers.IntegerField)
    commands = serializers.ListField(
        child=serializers.DictField(), help_text="What it ran, or did not: command, outcome, tail"
    )
    started_at = serializers.DateTimeField()
    ended_at = maybe(serializers.DateTimeField)


class GateShape(Shape):
    name = text()
    outcome = text()
    exit_code = maybe(serializers.IntegerField)
    duration_s = maybe(serializers.FloatField)
    summary = text()
    findings = serializers.JSONField()
    output_tail = text()


class FindingShape(Shape):
    rule = text()
    severity = text()
    path = text()
    message = text()


class WholeRunShape(RunShape):
    stages = StageShape(many=True)
    gates = GateShape(many=True)
    findings = FindingShape(many=True)


class TaskRunShape(RunShape):
    success = serializers.BooleanField()
    has_output = serializers.BooleanField()


class RunListShape(Shape):
    runs = RunShape(many=True)
    next_cursor = maybe(serializers.CharField)


class CountsShape(Shape):
    total = serializers.IntegerField()
    completed = serializers.IntegerField()
    failed = serializers.IntegerField()
    blocked = serializers.IntegerField()
    skipped = serializers.IntegerField()
    cancelled = serializers.IntegerField()


class SpentShape(Shape):
    cost_usd = serializers.FloatField(help_text="Of all attempts; unpriced calls left out")
    calls = serializers.IntegerField()
    unpriced_calls = serializers.IntegerField()
    estimated_calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    cache_read_tokens = serializers.IntegerField()
    cache_write_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()


class PauseShape(Shape):
    provider = text()
    until = serializers.DateTimeField(help_text="Launching goes on then, by itself")
    message = text()


class BatchShape(Shape):
    id = serializers.UUIDField()
    workspace_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=BatchStatus.values)
    reason = text()
    message = text()
    waiting = text(help_text="Why it has not begun; empty when it does not wait")
    strategy = serializers.ChoiceField(choices=Strategy.values)
    max_parallel = serializers.IntegerField()
    retry_count = serializers.IntegerField()
    on_failure = serializers.ChoiceField(choices=OnFailure.values)
    engine = text()
    isolation = serializers.ChoiceField(choices=Isolation.values)
    gates = serializers.JSONField(help_text="auto, none, or names")
    timeout_s = serializers.IntegerField()
    stall_timeout_s = serializers.IntegerField()
    land = serializers.ChoiceField(choices=Land.values)
    model = text(help_text="Empty: the engine's own choice")
    budget = maybe(serializers.FloatField, help_text="Dollars; null is no limit")
    allow_unpriced = serializers.BooleanField()
    verification = serializers.ChoiceField(choices=VERIFICATIONS)
    verification_reason = text()
    landing = text()
    landing_detail = text()
    branch = text()
    base_branch = text()
    base_commit = text()
    landed_commit = text()
    counts = CountsShape()
    round = serializers.IntegerField()
    created_by = text()
    created_at = serializers.DateTimeField()
    started_at = maybe(serializers.DateTimeField)
    completed_at = maybe(serializers.DateTimeField)
    spent = maybe(SpentShape, help_text="Null: nothing was told")
    paused = maybe(PauseShape, help_text="Null: it does not wait for its provider")


class WholeBatchShape(BatchShape):
    task_ids = ids()
    results = serializers.DictField(child=RunShape(), help_text="By task id, the last attempt")
    cost_usd = maybe(serializers.FloatField)


class BatchListShape(Shape):
    batches = BatchShape(many=True)
    total = serializers.IntegerField()
    by_status = tally()
    next_cursor = maybe(serializers.CharField)


class StartedShape(Shape):
    success = serializers.BooleanField()
    batch_id = maybe(serializers.UUIDField, help_text="Null after a dry run")
    task_count = serializers.IntegerField()
    strategy = text()
    engine = text()
    message = text()
    dry_run = serializers.BooleanField()
    waves = serializers.ListField(
        child=ids(), required=False, help_text="Dry run: what could run at once, in order"
    )


class ApprovedShape(Shape):
    success = serializers.BooleanField()
    approved_count = serializers.IntegerField()
    excluded_count = serializers.IntegerField()
    approved_task_ids = ids()
    excluded_task_ids = ids()
    batch_id = maybe(serializers.UUIDField)
    message = text()


class AssignmentShape(Shape):
    pending_count = serializers.IntegerField()
    executing_count = serializers.IntegerField()
    can_assign = serializers.BooleanField()
    reason = text()


class TaskActionShape(Shape):
    success = serializers.BooleanField()
    run_id = serializers.UUIDField()
    batch_id = serializers.UUIDField()
    task_id = serializers.UUIDField()
    status = text()
    executing = serializers.BooleanField()
    message = text()


class DeletedShape(Shape):
    success = serializers.BooleanField()
    message = text()


class AnsweredShape(BlockerShape):
    resumed_batch_id = maybe(serializers.UUIDField, help_text="The batch that goes on with it")
    resumption = text(help_text="What became of the task, in words")


class SlotShape(Shape):
    task_id = serializers.UUIDField()
    title = text()
    start_time = serializers.FloatField(help_text="Hours from now")
    end_time = serializers.FloatField()
    assigned_agent = serializers.IntegerField()


class ScheduleShape(Shape):
    task_assignments = SlotShape(many=True)
    total_duration = serializers.FloatField(help_text="Hours")
    agents_used = serializers.IntegerField()
    critical_path = ids()
    default_hours = serializers.FloatField(help_text="For what nobody has estimated")


class IntervalShape(Shape):
    early = serializers.DateField()
    late = serializers.DateField()


class PredictionShape(Shape):
    predicted_date = serializers.DateField()
    remaining_hours = serializers.FloatField()
    completed_percentage = serializers.FloatField()
    confidence_interval = IntervalShape()


class BottleneckShape(Shape):
    task_id = serializers.UUIDField()
    task_title = text()
    bottleneck_type = serializers.ChoiceField(choices=["dependencies", "duration"])
    impact_hours = serializers.FloatField()
    recommendation = text()
