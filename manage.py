#!/usr/bin/env python
"""Command line of codeframe; `python manage.py help` lists the commands."""

import os
import sys

EXIT_USAGE = 2


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeframe_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"Error: {' '.join(str(error).split())}\n")
        sys.exit(EXIT_USAGE)


if __name__ == "__main__":
    main()
