"""Prices that differ from the list, for those who may change them; usage is written by no hand."""

from typing import TYPE_CHECKING

from django.contrib import admin

from costs.models import Price

if TYPE_CHECKING:
    AnyPriceAdmin = admin.ModelAdmin[Price]
else:
    AnyPriceAdmin = admin.ModelAdmin


@admin.register(Price)
class PriceAdmin(AnyPriceAdmin):
    list_display = [
        "model",
        "provider",
        "valid_from",
        "input_usd",
        "cache_read_usd",
        "cache_write_usd",
        "output_usd",
    ]
    list_filter = ["provider"]
    search_fields = ["model"]
