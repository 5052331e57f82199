"""The product's settings, with the urls of the load bench."""

from codeframe_site.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.load_urls"
