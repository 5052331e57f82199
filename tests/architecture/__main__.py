"""Prints the tables that the documentation must hold: `python -m tests.architecture`."""

import os
import tempfile

with tempfile.TemporaryDirectory(prefix="codeframe-pages-") as folder:
    os.environ["CODEFRAME_STATE_DIR"] = folder
    os.environ["DJANGO_SETTINGS_MODULE"] = "codeframe_site.settings"
    import django

    django.setup()
    from tests.architecture.pages import everything

    for part in everything(folder):
        print(part)
