"""Literal routes come before routes with parameters, or they could never be reached."""

from django.urls import path

from batches.api import (
    artefacts,
    batches,
    configuration,
    engines,
    execute,
    members,
    runs,
    schedule,
    task_actions,
    workspaces,
)
from batches.api import blockers as answers
from batches.api import tasks as batch_tasks
from codeframe_site import paths, tokens_api
from tasks.api import blockers, cost_budgets, cost_export, costs, events
from tasks.api import tasks as task_views

assert paths  # knows short_id

urlpatterns = [
    path("workspaces", workspaces.WorkspacesView.as_view()),
    path("workspaces/current", workspaces.CurrentWorkspaceView.as_view()),
    path("workspaces/exists", workspaces.WorkspaceExistsView.as_view()),
    path("workspaces/<uuid:workspace_id>", workspaces.WorkspaceView.as_view()),
    path("workspaces/<uuid:workspace_id>/members", members.MembersView.as_view()),
    path("workspaces/<uuid:workspace_id>/members/<str:username>", members.MemberView.as_view()),
    path("workspaces/<uuid:workspace_id>/config", configuration.ConfigView.as_view()),
    path("workspaces/<uuid:workspace_id>/config/trust", configuration.TrustView.as_view()),
    path("workspaces/<uuid:workspace_id>/recipe", configuration.RecipeView.as_view()),
    path(
        "workspaces/<uuid:workspace_id>/recipe/<int:command_id>",
        configuration.RecipeCommandView.as_view(),
    ),
    path("tasks", task_views.TasksView.as_view()),
    path("tasks/execute", execute.ExecuteView.as_view()),
    path("tasks/approve", batch_tasks.ApproveView.as_view()),
    path("tasks/assignment-status", batch_tasks.AssignmentStatusView.as_view()),
    path("tasks/<short_id:task_id>", batch_tasks.TaskWithDeleteView.as_view()),
    path("tasks/<short_id:task_id>/start", task_actions.StartView.as_view()),
    path("tasks/<short_id:task_id>/stop", task_actions.StopTaskView.as_view()),
    path("tasks/<short_id:task_id>/resume", task_actions.ResumeTaskView.as_view()),
    path("tasks/<short_id:task_id>/run", batch_tasks.TaskRunView.as_view()),
    path("tasks/<short_id:task_id>/runs", runs.TaskRunsView.as_view()),
    path("batches", batches.BatchesView.as_view()),
    path("batches/<uuid:batch_id>", batches.BatchView.as_view()),
    path("batches/<uuid:batch_id>/runs", runs.BatchRunsView.as_view()),
    path("batches/<uuid:batch_id>/stop", batches.StopView.as_view()),
    path("batches/<uuid:batch_id>/cancel", batches.CancelView.as_view()),
    path("batches/<uuid:batch_id>/resume", batches.ResumeView.as_view()),
    path("batches/<uuid:batch_id>/retry", batches.RetryView.as_view()),
    path("batches/<uuid:batch_id>/budget", batches.BudgetView.as_view()),
    path("runs/<uuid:run_id>", runs.RunView.as_view()),
    path("runs/<uuid:run_id>/output", artefacts.RunOutputView.as_view()),
    path("runs/<uuid:run_id>/patch", artefacts.RunPatchView.as_view()),
    path("runs/<uuid:run_id>/stop", runs.RunStopView.as_view()),
    path("blockers", blockers.BlockersView.as_view()),
    path("blockers/<short_id:blocker_id>", blockers.BlockerView.as_view()),
    path("blockers/<short_id:blocker_id>/answer", answers.AnswerView.as_view()),
    path("blockers/<short_id:blocker_id>/resolve", blockers.ResolveView.as_view()),
    path("engines", engines.EnginesView.as_view()),
    path("events", events.EventsView.as_view()),
    path("schedule", schedule.ScheduleView.as_view()),
    path("schedule/predict", schedule.PredictView.as_view()),
    path("schedule/bottlenecks", schedule.BottlenecksView.as_view()),
    path("costs/summary", costs.CostSummaryView.as_view()),
    path("costs/tasks", costs.CostByTaskView.as_view()),
    path("costs/by-agent", costs.CostByAgentView.as_view()),
    path("costs/by-model", costs.CostByModelView.as_view()),
    path("costs/by-batch", costs.CostByBatchView.as_view()),
    path("costs/by-day", costs.CostByDayView.as_view()),
    path("costs/export", cost_export.CostExportView.as_view()),
    path("costs/budgets", cost_budgets.BudgetsView.as_view()),
    path("tokens", tokens_api.TokensView.as_view()),
    path("tokens/<uuid:token_id>", tokens_api.TokenView.as_view()),
    path("stream-ticket", tokens_api.TicketView.as_view()),
]
