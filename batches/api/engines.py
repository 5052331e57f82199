"""GET /api/v2/engines: what can be chosen; reads what a job has found out, starts nothing."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from batches.engine_list import EngineInfo, engines
from tasks.api.base import ApiView, held_scope
from tasks.api.describe import asked, describe
from tasks.api.query import yes_or_no
from tasks.api.shapes import Shape, text


class EngineShape(Shape):
    name = text()
    kind = text(help_text="command, or the agent's name")
    usable = serializers.BooleanField(help_text="A batch with it can be started now")
    problem = text(help_text="Why not")
    version = text(help_text="Empty: not asked yet")
    tells_usage = serializers.BooleanField(help_text="Tokens and dollars of it are known")
    path = text(help_text="For admins, else empty")
    login = text(help_text="Variable or file it logs in with; for admins, else empty")
    get = text(help_text="How to get what is missing")


class EngineListShape(Shape):
    engines = EngineShape(many=True)


class EnginesView(ApiView):
    @describe(
        "list_engines",
        "Engines, and whether each can be used",
        returns=EngineListShape,
        query=[asked("all", "true: those that cannot be used too, with the reason")],
    )
    def get(self, request: Request) -> Response:
        everything = yes_or_no(request, "all")
        found = [info for info in engines() if everything or info.usable]
        return Response({"engines": [_object(info, request) for info in found]})


def _object(info: EngineInfo, request: Request) -> dict[str, Any]:
    """Where things lie on the server is for those who run it."""
    runs_it = held_scope(request) == "admin" and bool(getattr(request.user, "is_superuser", False))
    body = {name: getattr(info, name) for name in info.__dataclass_fields__}
    return body if runs_it else body | {"path": "", "login": "", "problem": _without_path(info)}


def _without_path(info: EngineInfo) -> str:
    return info.problem.replace(info.path, info.name) if info.path else info.problem
