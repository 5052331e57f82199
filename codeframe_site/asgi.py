"""ASGI entry point: HTTP by Django."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeframe_site.settings")

from django.core.asgi import get_asgi_application

application = get_asgi_application()
