import pytest
from django.test import RequestFactory

from tasks.models import Workspace
from tasks.web.paging import LAST_PAGE, Page, page_of
from tests.codeframe_site.rows import workspace_row

pytestmark = pytest.mark.django_db


def page(text: str, size: int = 2) -> Page[Workspace]:
    request = RequestFactory().get("/", {"page": text})
    return page_of(Workspace.objects.all(), request, size=size)


def names(shown: Page[Workspace]) -> list[str]:
    return [workspace.name for workspace in shown.rows]


def test_each_row_is_on_one_page() -> None:
    for name in "abcde":
        workspace_row(name)
    assert [names(page(n)) for n in "1234"] == [["a", "b"], ["c", "d"], ["e"], []]
    assert [(page(n).previous, page(n).next) for n in "123"] == [(None, 2), (1, 3), (2, None)]


def test_a_full_last_page_leads_nowhere() -> None:
    workspace_row("a")
    workspace_row("b")
    assert page("1").next is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("", 1), ("0", 1), ("-3", 1), ("x", 1), ("²", 1), ("9" * 40, 1), ("999999", LAST_PAGE)],
)
def test_what_is_no_page_number_is_a_page_all_the_same(text: str, number: int) -> None:
    assert page(text).number == number
