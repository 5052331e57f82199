"""Signing in and changing one's password, for everybody who has an account; staff or not."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy

from codeframe_site.sign_in_links import nobody_has_a_password
from tasks.audit import audit


class SignInView(LoginView):
    """Django's own: where it leads is checked to be on this site. Throttled in sign_in.py."""

    template_name = "site/login.html"
    authentication_form = AuthenticationForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(nobody_has_a_password=nobody_has_a_password(), **kwargs)

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Not to here: whoever is signed in already would be sent round and round."""
        there = super().get_redirect_url()
        return "" if urlsplit(there).path == self.request.path else there


class PasswordView(PasswordChangeView):
    """Other sessions of the account end with the old password."""

    template_name = "site/password.html"
    success_url = reverse_lazy("home")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        name = self.request.user.get_username()
        with transaction.atomic():
            response = super().form_valid(form)
            audit(name, "password.change", name)
        messages.success(self.request, "The password was changed.")
        return response
