"""The site's settings, with a short patience for clients that stand still."""

from codeframe_site.settings import *  # noqa: F403
from tasks.events import hub

hub.STUCK_S = 2.0
