"""The page behind a one-time sign-in link."""

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from codeframe_site.sign_in_links import find_link, is_local, use_link

BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Looking spends nothing, so that a browser that loads ahead does not use it up."""
    local = is_local(request)
    if request.method == "POST" and local:
        user = use_link(secret)
        if user is not None:
            login(request, user, backend=BACKEND)
            return redirect("home")
    link = find_link(secret) if local else None
    context = {"link": link, "local": local}
    return render(request, "site/sign_in_link.html", context, status=200 if link else 403)
