"""Sums of costs, for the OpenAPI document. Dollars are rounded to a millionth."""

from rest_framework import serializers

from tasks.api.shapes import Shape


class DayShape(Shape):
    date = serializers.DateField()
    cost_usd = serializers.FloatField()


class CostSummaryShape(Shape):
    total_spend_usd = serializers.FloatField()
    total_tasks = serializers.IntegerField()
    avg_cost_per_task = serializers.FloatField(help_text="Calls outside of tasks left out")
    call_count = serializers.IntegerField()
    unpriced_calls = serializers.IntegerField(help_text="Their price is unknown, not 0")
    estimated_calls = serializers.IntegerField(help_text="Their counts are not exact")
    time_zone = serializers.CharField(help_text="Whose days these are")
    daily = DayShape(many=True)


class SumShape(Shape):
    input_tokens = serializers.IntegerField(help_text="Fresh ones")
    cache_read_tokens = serializers.IntegerField()
    cache_write_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    total_cost_usd = serializers.FloatField()
    call_count = serializers.IntegerField()
    unpriced_calls = serializers.IntegerField()
    estimated_calls = serializers.IntegerField()


class TaskCostShape(SumShape):
    task_id = serializers.UUIDField()
    task_title = serializers.CharField()
    agent_id = serializers.CharField(help_text="The one with the most calls")


class AgentCostShape(SumShape):
    agent_id = serializers.CharField()


class ModelCostShape(SumShape):
    model = serializers.CharField()


class BatchCostShape(SumShape):
    batch_id = serializers.UUIDField()


class TaskCostsShape(Shape):
    tasks = TaskCostShape(many=True)


class AgentCostsShape(Shape):
    by_agent = AgentCostShape(many=True)
    total_input_tokens = serializers.IntegerField()
    total_output_tokens = serializers.IntegerField()


class ModelCostsShape(Shape):
    by_model = ModelCostShape(many=True)


class DayCostShape(SumShape):
    date = serializers.DateField()
    agent_id = serializers.CharField()


class DayCostsShape(Shape):
    by_day = DayCostShape(many=True, help_text="Days without any call are left out")


class CapShape(Shape):
    scope = serializers.ChoiceField(choices=["task", "day", "month"])
    hard = serializers.BooleanField(help_text="Stops agents; a soft one launches nothing more")
    limit_usd = serializers.FloatField()
    spent_usd = serializers.FloatField(
        allow_null=True, help_text="Null: it is measured task by task"
    )


class BudgetsShape(Shape):
    time_zone = serializers.CharField()
    caps = CapShape(many=True)


class BatchCostsShape(Shape):
    by_batch = BatchCostShape(many=True)
