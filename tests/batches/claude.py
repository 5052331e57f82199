"""Batches of a stand-in for Claude Code, which prints lines as they were seen."""

from typing import Any

from batches.models import Batch
from tasks.models import Workspace
from tests.factories import make_batch

OK = "claude-ok.jsonl"


def of_claude(workspace: Workspace, **changes: Any) -> Batch:
    options = {"engine": "claude", "engine_options": {"kind": "claude"}}
    return make_batch(workspace, **(options | {"model": "claude-sonnet-4-5"} | changes))
