"""Installations of codeframe, each with a database migrated beforehand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.site import Site
from tests.repos import make_repository


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A migrated database, as bytes of its file."""
    site = Site(tmp_path_factory.mktemp("migrated"))
    assert site.run("workspace", "list").code == 0
    with_log = site.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    assert with_log[0][0] == 0
    return site.database.read_bytes()


@pytest.fixture
def site(tmp_path: Path, empty: bytes) -> Iterator[Site]:
    site = Site(tmp_path, empty)
    yield site
    site.destroy()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "shop", {"README.md": "hello\n"})


@pytest.fixture
def shop(site: Site, repo: Path) -> Site:
    """A site with a workspace named shop, without gates, and an agent named fixer."""
    site.good("workspace", "add", str(repo), "--no-gates")
    site.add_agent()
    return site
