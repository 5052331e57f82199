"""Rows that need no repository."""

from tasks.models import EventCounter, Workspace
from tests.codeframe_site.rows import workspace_row


def known_workspace(name: str = "shop") -> Workspace:
    """Its repository is nowhere; its events can be counted."""
    row = workspace_row(name)
    EventCounter.objects.create(workspace=row)
    return row
