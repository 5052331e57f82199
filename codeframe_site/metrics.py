"""GET /metrics for Prometheus: read from rows and from the loop when asked, nothing kept."""

from collections.abc import Iterator

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from batches import recovery
from batches.models import Batch, Run
from codeframe_site.auth import TokenAuthentication
from codeframe_site.errors import json_error
from codeframe_site.limits import LIMITS
from codeframe_site.looplag import MONITOR
from codeframe_site.models import ApiToken
from codeframe_site.streams import HUB
from tasks.models import Event


class Codeframe(Collector):
    def collect(self) -> Iterator[Metric]:
        yield from _loop()
        yield from _requests()
        yield from _streams()
        yield _by_status("codeframe_batches", "Batches by status", Batch)
        yield _by_status("codeframe_runs", "Runs by status", Run)
        yield _gauge("codeframe_leases", "Batches with a living owner", len(recovery.held()))
        yield _gauge("codeframe_queue_age_seconds", "Longest wait", recovery.oldest_wait())
        yield CounterMetricFamily("codeframe_events", "Events recorded", Event.objects.count())


def metrics(request: HttpRequest) -> HttpResponse:
    """For operators: a staff session, or a token of one that is not limited."""
    user, token = _who(request)
    if not getattr(user, "is_staff", False):
        return json_error(401, "Sign in or send a token", "UNAUTHORIZED")
    if token is not None and token.limited:
        return json_error(403, "Forbidden", "FORBIDDEN", "this token is limited to some workspaces")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Codeframe())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _who(request: HttpRequest) -> tuple[object, ApiToken | None]:
    if not isinstance(request.user, AnonymousUser):
        return request.user, None
    try:
        return TokenAuthentication().authenticate(Request(request)) or (None, None)
    except AuthenticationFailed:
        return None, None


def _loop() -> Iterator[Metric]:
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        yield _gauge(
            f"codeframe_loop_lag_{name}_seconds", "Lag of the last minute", MONITOR.percentile(part)
        )
    yield _gauge("codeframe_loop_lag_worst_seconds", "Worst lag since the start", MONITOR.worst)
    yield CounterMetricFamily("codeframe_loop_spikes", "Lags over the bound", MONITOR.spikes)


def _requests() -> Iterator[Metric]:
    yield _gauge("codeframe_requests_under_way", "Requests under way", LIMITS.under_way)
    yield CounterMetricFamily("codeframe_requests", "Requests answered", LIMITS.answered)
    yield CounterMetricFamily("codeframe_requests_refused", "Over the cap", LIMITS.refused)


def _streams() -> Iterator[Metric]:
    figures = HUB.figures
    yield _gauge("codeframe_streams", "Event streams open in this process", len(HUB))
    yield _gauge(
        "codeframe_stream_lag_seconds", "Age of the newest event when handed out", figures.lag_s
    )
    for name, text, value in (
        ("frames", "Frames sent", figures.frames),
        ("events", "Events sent, to each client", figures.events),
        ("resyncs", "Clients served from the table again", figures.resyncs),
        ("refused", "Streams over the cap", figures.refused),
        ("stuck", "Clients sent away because they took nothing", figures.stuck),
        ("relay_failures", "New beginnings of the relay", HUB.failures),
    ):
        yield CounterMetricFamily(f"codeframe_stream_{name}", text, value)


def _by_status(name: str, text: str, model: type[Batch] | type[Run]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["status"])
    rows = model.objects.order_by().values_list("status").annotate(Count("id"))
    for status, count in rows:
        family.add_metric([status], count)
    return family


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value)
