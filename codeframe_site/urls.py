from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from codeframe_site.docs import DocsView
from codeframe_site.frame import choose_theme
from codeframe_site.metrics import metrics
from codeframe_site.operators.page import VERBS, operators_page, unstick
from codeframe_site.pages import overview, questions, signing_in
from codeframe_site.ready import ready

urlpatterns = [
    path("", overview.home, name="home"),
    path("sign-in/<str:secret>/", signing_in.sign_in_link, name="sign-in-link"),
    path("theme/", choose_theme, name="theme"),
    path("questions/badge/", questions.badge, name="questions-badge"),
    path("workspaces/<uuid:workspace_id>/", overview.workspace_page, name="workspace"),
    path("operators/", operators_page, name="operators"),
    *(
        path(f"operators/{verb}/", unstick, {"verb": verb}, name=f"operators-{verb}")
        for verb in VERBS
    ),
    path("", include("batches.web.urls")),
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
