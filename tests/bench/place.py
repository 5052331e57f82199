"""A state directory and a database of the benches' own, gone afterwards."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_place() -> Iterator[None]:
    """Sets Django up. DATABASE_URL names a server, on which a database of our own is made."""
    with tempfile.TemporaryDirectory(prefix="codeframe-bench-") as folder:
        os.environ["CODEFRAME_STATE_DIR"] = folder
        os.environ.setdefault("CODEFRAME_SECRET_KEY", "not-secret-only-for-benches")
        import django

        django.setup()
        from django.db import connections

        from tests.bench.measure import start_counting

        start_counting()
        connection = connections["default"]
        earlier = str(connection.settings_dict["NAME"])
        if connection.vendor == "postgresql":
            connection.settings_dict["TEST"]["NAME"] = f"codeframe_bench_{os.getpid()}"
        try:
            connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            yield
        finally:
            connections.close_all()
            connection.creation.destroy_test_db(earlier, verbosity=0)
