from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LogoutView
from django.templatetags.static import static
from django.urls import include, path
from django.utils.functional import lazy
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView

from codeframe_site import accounts
from codeframe_site.costs_page import costs_page
from codeframe_site.docs import DocsView
from codeframe_site.metrics import metrics
from codeframe_site.operators.page import VERBS, operators_page, unstick
from codeframe_site.ready import ready

ICON = lazy(static, str)("codeframe/icon.svg")
"""Asked for by browsers that have not seen a page of ours: a picture, an error, JSON."""

urlpatterns = [
    path("", include("codeframe_site.pages.urls")),
    path("login/", accounts.SignInView.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("password/", accounts.PasswordView.as_view(), name="password"),
    path("costs/", costs_page, name="costs"),
    path("operators/", operators_page, name="operators"),
    *(
        path(f"operators/{verb}/", unstick, {"verb": verb}, name=f"operators-{verb}")
        for verb in VERBS
    ),
    path("", include("batches.web.urls")),
    path("api/v2/", include("codeframe_site.api_urls")),
    path("favicon.ico", RedirectView.as_view(url=ICON), name="favicon"),
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
