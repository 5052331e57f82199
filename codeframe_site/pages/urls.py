"""Addresses of the pages about workspaces, tasks, questions and one's account."""

from django.urls import path

from codeframe_site.frame import choose_theme
from codeframe_site.pages import (
    account,
    board,
    bulk,
    overview,
    questions,
    registering,
    signing_in,
    task_page,
)
from codeframe_site.pages import workspace_settings as settings
from tasks.web import edit_pages, graph_page, import_page

WORKSPACE = "workspaces/<uuid:workspace_id>/"
TASK = "tasks/<uuid:task_id>/"

urlpatterns = [
    path("", overview.home, name="home"),
    path("theme/", choose_theme, name="theme"),
    path("sign-in/<str:secret>/", signing_in.sign_in_link, name="sign-in-link"),
    path("account/", account.account, name="account"),
    path("account/password/", account.first_password, name="first-password"),
    path("account/tokens/", account.new_token, name="token-new"),
    path("account/tokens/<uuid:token_id>/revoke/", account.drop_token, name="token-drop"),
    path("questions/", questions.questions, name="questions"),
    path("questions/badge/", questions.badge, name="questions-badge"),
    path("questions/<uuid:blocker_id>/answer/", questions.answer, name="question-answer"),
    path("workspaces/new/", registering.register, name="workspace-new"),
    path(WORKSPACE, board.workspace_page, name="workspace"),
    path(f"{WORKSPACE}parts/tasks/", board.tasks_part, name="workspace-tasks"),
    path(f"{WORKSPACE}parts/tasks/<uuid:task_id>/", board.task_card, name="task-card"),
    path(f"{WORKSPACE}tasks/new/", edit_pages.new_task, name="task-new"),
    path(f"{WORKSPACE}tasks/import/", import_page.import_tasks, name="task-import"),
    path(f"{WORKSPACE}tasks/options/", edit_pages.task_options, name="task-options"),
    path(f"{WORKSPACE}tasks/ticked/", bulk.act, name="tasks-bulk"),
    path(f"{WORKSPACE}graph/", graph_page.graph_page, name="workspace-graph"),
    path(f"{WORKSPACE}graph/states/", graph_page.graph_states, name="workspace-graph-states"),
    path(f"{WORKSPACE}settings/", settings.workspace_settings, name="workspace-settings"),
    path(f"{WORKSPACE}settings/members/", settings.put_member, name="member-set"),
    path(f"{WORKSPACE}settings/members/remove/", settings.drop_member, name="member-drop"),
    path(f"{WORKSPACE}settings/forget/", settings.forget, name="workspace-forget"),
    path(TASK, task_page.task_page, name="task"),
    path(f"{TASK}part/", task_page.task_part, name="task-part"),
    path(f"{TASK}edges/", task_page.task_edges, name="task-edges"),
    path(f"{TASK}edit/", edit_pages.edit_task, name="task-edit"),
    path(f"{TASK}move/", edit_pages.move, name="task-move"),
    path(f"{TASK}delete/", task_page.delete, name="task-delete"),
    path(f"{TASK}after/", edit_pages.depend, name="task-depend"),
    path(f"{TASK}after/<uuid:other_id>/remove/", edit_pages.undepend, name="task-undepend"),
]
