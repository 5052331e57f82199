"""Views work in threads and the loop's own parts on the loop; neither is the other by mistake."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from codeframe_site import asgi, health

VERBS = ("get", "post", "put", "patch", "delete", "head", "options")


def views(patterns: list[Any]) -> Iterator[Callable[..., Any]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            yield pattern.callback


def parts(view: Any) -> Iterator[Callable[..., Any]]:
    """The view, what decorators wrap, and the methods of its class."""
    yield view
    yield inspect.unwrap(view)
    owner = getattr(view, "view_class", None) or getattr(view, "cls", None)
    if owner is not None:
        yield from (getattr(owner, verb) for verb in VERBS if hasattr(owner, verb))


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def test_every_view_of_every_url_works_in_a_thread() -> None:
    every = list(views(get_resolver("codeframe_site.urls").url_patterns))
    assert len(every) > 60
    assert [view for view in every if any(map(is_async, parts(view)))] == []


@pytest.mark.parametrize(
    "handler", [asgi.application, asgi.OneVisitHandler.__call__, health.health]
)
def test_what_the_loop_calls_itself_is_async(handler: Callable[..., Any]) -> None:
    assert is_async(handler)


def test_an_async_view_is_found() -> None:
    async def view() -> None: ...

    assert any(map(is_async, parts(view)))
