"""Prices and caps, for those who may change them; usage is written by no hand."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from costs import pauses
from costs.models import Budget, PriceOverride, ProviderPause, Usage

if TYPE_CHECKING:
    PriceBase = admin.ModelAdmin[PriceOverride]
    BudgetBase = admin.ModelAdmin[Budget]
    PauseBase = admin.ModelAdmin[ProviderPause]
    UsageBase = admin.ModelAdmin[Usage]
else:
    PriceBase = BudgetBase = PauseBase = UsageBase = admin.ModelAdmin


@admin.register(PriceOverride)
class PriceAdmin(PriceBase):
    list_display = [
        "model",
        "provider",
        "valid_from",
        "input_usd",
        "cache_read_usd",
        "cache_write_usd",
        "output_usd",
        "note",
    ]
    list_filter = ["provider"]
    search_fields = ["model", "note"]


class ReadOnly:
    """Seen here, changed by their own commands and endpoints."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Budget)
class BudgetAdmin(ReadOnly, BudgetBase):
    list_display = ["scope", "subject_id", "hard", "limit_usd", "updated_at"]
    list_filter = ["scope", "hard"]


@admin.register(ProviderPause)
class PauseAdmin(ReadOnly, PauseBase):
    list_display = ["provider", "until", "since", "strikes", "message"]
    actions = ["go_on"]

    def has_lift_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("costs.change_providerpause")

    @admin.action(description="Go on at once", permissions=["lift"])
    def go_on(self, request: HttpRequest, queryset: QuerySet[ProviderPause]) -> None:
        lifted = sum(pauses.lift(row.provider) for row in queryset)
        self.message_user(request, f"{lifted} lifted; batches go on within a second")


@admin.register(Usage)
class UsageAdmin(ReadOnly, UsageBase):
    list_display = ["at", "agent", "provider", "model", "calls", "cost_usd", "price_source"]
    list_filter = ["agent", "provider", "price_source", "estimated"]
    search_fields = ["model", "call_id"]
    show_full_result_count = False
