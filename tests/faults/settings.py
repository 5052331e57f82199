"""The product's own settings, plus the app that makes a worker wait at named points."""

from codeframe_site.settings import *  # noqa: F403
from codeframe_site.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.app"]
