from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from codeframe_site.urls import urlpatterns as product
from tests.codeframe_site import slow_site

BODY = b"x" * 3_000_000


def slow(request: HttpRequest) -> HttpResponse:
    slow_site.wait_in_a_thread()
    return HttpResponse(BODY)


async def stream(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(slow_site.endless_events(), content_type="text/event-stream")


urlpatterns = [path("slow/", slow), path("stream/", stream), *product]
