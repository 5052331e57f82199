"""What our admin lists share: safe at any size, and history that nobody edits."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.functional import cached_property

from tasks.errors import DomainError

ERRORS_SHOWN = 10
_ID = re.compile(r"[0-9a-f]{4,32}")

M = TypeVar("M", bound=Model)

# Django's classes take a parameter for the type checker only.
if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
    AnyModelForm = ModelForm[Any]
    AnyPaginator = Paginator[Any]
else:
    AnyModelAdmin, AnyModelForm, AnyPaginator = admin.ModelAdmin, ModelForm, Paginator


MOST_COUNTED = 10_000


class BoundedPaginator(AnyPaginator):
    """Counts up to a bound: of more rows than that nobody looks at every page, but filters."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return len(rows.order_by().values_list("pk")[:MOST_COUNTED])


class LargeTableAdmin(AnyModelAdmin):
    """No count of the whole table, no heavy column in a list, ids found by their index."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 50
    id_columns: Sequence[str] = ("pk",)
    """Columns with UUIDs, in which the beginning of an id is looked up."""
    heavy: Sequence[str] = ()
    """Large columns that lists leave in the database."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.heavy)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        bounds = _bounds(search_term)
        if bounds:
            wanted = Q()
            for column in self.id_columns:
                wanted |= Q(**{f"{column}__gte": bounds[0], f"{column}__lte": bounds[1]})
            found = queryset.filter(wanted)
            if found.exists():
                return found, False
        return super().get_search_results(request, queryset, search_term)


class HistoryAdmin(LargeTableAdmin):
    """Everything is shown, nothing can be added, changed or deleted."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [field.name for field in self.opts.fields]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """For actions that go through a lifecycle, which a read-only list may still offer."""
        return super().has_change_permission(request)


def act_on_each(
    model_admin: AnyModelAdmin,
    request: HttpRequest,
    rows: QuerySet[M],
    act: Callable[[M], object],
    *,
    done: str,
) -> None:
    """One row's refusal does not keep the others from being done; each is told in words."""
    count = 0
    refused: list[str] = []
    for row in rows:
        try:
            act(row)
        except DomainError as error:
            refused.append(error.message)
        else:
            count += 1
    if count:
        model_admin.message_user(request, f"{count} {done}", messages.SUCCESS)
    for message in refused[:ERRORS_SHOWN]:
        model_admin.message_user(request, message, messages.ERROR)
    if len(refused) > ERRORS_SHOWN:
        more = f"… and {len(refused) - ERRORS_SHOWN} more were refused"
        model_admin.message_user(request, more, messages.ERROR)


def _bounds(text: str) -> tuple[UUID, UUID] | None:
    digits = text.strip().lower().replace("-", "")
    if not _ID.fullmatch(digits):
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
