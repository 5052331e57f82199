from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from batches.web import pages as batch_pages
from codeframe_site.docs import DocsView
from codeframe_site.frame import choose_theme
from codeframe_site.metrics import metrics
from codeframe_site.pages import overview, questions
from codeframe_site.ready import ready

urlpatterns = [
    path("", overview.home, name="home"),
    path("theme/", choose_theme, name="theme"),
    path("questions/badge/", questions.badge, name="questions-badge"),
    path("workspaces/<uuid:workspace_id>/", overview.workspace_page, name="workspace"),
    path("batches/", batch_pages.batch_list, name="batches"),
    path("batches/<uuid:batch_id>/", batch_pages.batch_page, name="batch"),
    *(
        path(
            f"batches/<uuid:batch_id>/{verb}/",
            batch_pages.steer_batch,
            {"verb": verb},
            name=f"batch-{verb}",
        )
        for verb in batch_pages.STEERS
    ),
    path("runs/<uuid:run_id>/", batch_pages.run_page, name="run"),
    path("runs/<uuid:run_id>/stop/", batch_pages.stop_run, name="run-stop"),
    path("api/v2/", include("codeframe_site.api_urls")),
    path("ready", ready),
    path("metrics", metrics),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", login_required(DocsView.as_view(url_name="schema")), name="api-docs"),
    path("admin/", admin.site.urls),
]

handler400 = "codeframe_site.outer_errors.bad_request"
handler403 = "codeframe_site.outer_errors.forbidden"
handler404 = "codeframe_site.outer_errors.not_found"
handler500 = "codeframe_site.outer_errors.server_error"
