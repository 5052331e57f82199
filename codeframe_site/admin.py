"""Tokens of programs: who holds which, and revoking them. Keys and their hashes are never shown."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from codeframe_site.models import ApiToken
from codeframe_site.tokens import revoke_token
from tasks.admin_kit import HistoryAdmin, act_on_each


@admin.register(ApiToken)
class ApiTokenAdmin(HistoryAdmin):
    """Made by `manage.py token create` or the API, which show the key once."""

    list_display = [
        "name",
        "hint",
        "user",
        "scope",
        "limited",
        "created_at",
        "expires_at",
        "last_used_at",
        "revoked_at",
    ]
    list_filter = ["scope", "limited", ("revoked_at", admin.EmptyFieldListFilter)]
    list_select_related = ["user"]
    search_fields = ["name", "user__username"]
    exclude = ["digest"]
    actions = ["revoke"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [
            name for name in super().get_readonly_fields(request, obj) if name not in self.exclude
        ] + ["workspaces"]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Nor can a hash be guessed letter by letter."""
        return not lookup.startswith("digest") and super().lookup_allowed(lookup, value, request)

    @admin.action(description="Revoke, at once and for good", permissions=["operate"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        by = request.user.get_username()
        rows = queryset.filter(revoked_at__isnull=True).select_related("user")
        act_on_each(self, request, rows, lambda row: revoke_token(row, by=by), done="revoked")
