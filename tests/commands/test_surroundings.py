"""Wrong settings, a state folder that cannot be used, a database that is not there: one line."""

import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.site import ROOT, Done, Site

WORDS = ("workspace", "list")


def refused(done: Done) -> str:
    assert (done.code, done.out) == (2, ""), done
    assert len(done.err.splitlines()) == 1, done.err
    assert done.err.startswith("Error: ")
    return done.err


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("CODEFRAME_WORKERS", "many", "CODEFRAME_WORKERS must be a whole number, not 'many'"),
        ("CODEFRAME_LEASE_SECONDS", "1", "CODEFRAME_LEASE_SECONDS must be at least 2, not 1"),
        ("CODEFRAME_DEBUG", "perhaps", "CODEFRAME_DEBUG must be 1 or 0, not 'perhaps'"),
        ("CODEFRAME_LOG_LEVEL", "loud", "CODEFRAME_LOG_LEVEL must be one of DEBUG, INFO"),
        ("CODEFRAME_REDIS_URL", "mail://x", "CODEFRAME_REDIS_URL must be an address"),
        ("DATABASE_URL", "mysql://x/y", "DATABASE_URL must be postgres://"),
        ("DATABASE_URL", "postgres://ada:se/cret@host:1/x", "DATABASE_URL must be postgres://"),
        ("DATABASE_URL", "sqlite:///nowhere/at/all.db", "/nowhere/at/all.db: unable to open"),
        ("DATABASE_URL", "sqlite:////tmp/%00", "DATABASE_URL must be postgres://"),
    ],
)
def test_a_wrong_variable_is_told_in_one_line(name: str, value: str, told: str, site: Site) -> None:
    line = refused(site.run(*WORDS, **{name: value}))
    assert told in line
    assert "cret" not in line


def test_commands_of_django_tell_it_alike(site: Site) -> None:
    assert "CODEFRAME_WORKERS must" in refused(site.run("check", CODEFRAME_WORKERS="many"))


def test_a_closed_port_is_told_in_one_line(site: Site) -> None:
    port = closed_port()
    url = f"postgres://ada:secret@127.0.0.1:{port}/codeframe"
    line = refused(site.run(*WORDS, DATABASE_URL=url))
    assert f"port {port} failed: Connection refused" in line
    assert "secret" not in line


def test_an_option_that_postgres_does_not_have_is_told_in_one_line(site: Site) -> None:
    url = "postgres://127.0.0.1/codeframe?frobnicate=1"
    assert 'invalid connection option "frobnicate"' in refused(site.run(*WORDS, DATABASE_URL=url))


def test_a_file_that_is_no_database_is_told_in_one_line(site: Site) -> None:
    site.database.write_bytes(b"not a database, " * 100)
    assert f"{site.database}: file is not a database" in refused(site.run(*WORDS))


@pytest.mark.parametrize("where", ["file", "file/below", "loop", "/proc/codeframe"])
def test_a_state_folder_that_cannot_be_is_told_in_one_line(
    where: str, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    folder = str(tmp_path / where)
    line = refused(site.run(*WORDS, CODEFRAME_STATE_DIR=folder))
    assert line.startswith(f"Error: CODEFRAME_STATE_DIR: {folder}")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_state_folder_is_told_in_one_line(site: Site) -> None:
    site.state.chmod(0o500)
    assert f"CODEFRAME_STATE_DIR: {site.state}: it cannot be written to" in refused(
        site.run(*WORDS)
    )


def test_a_key_that_cannot_be_kept_is_told_in_one_line(site: Site) -> None:
    (site.state / "secret_key").mkdir()
    assert "secret_key: Is a directory" in refused(site.run(*WORDS))


def test_two_first_commands_at_once_both_find_a_database(tmp_path: Path) -> None:
    site = Site(tmp_path)
    started = [site.start(*WORDS) for _ in range(2)]
    assert [(done.code, done.err) for done in (process.end() for process in started)] == [
        (0, ""),
        (0, ""),
    ]


def test_a_first_start_that_was_interrupted_is_gone_on_with(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert site.run("migrate", "tasks", "--verbosity", "0").code == 0
    assert site.run("engine", "list").code == 0


def test_an_older_database_is_left_alone_and_told_in_one_line(site: Site) -> None:
    with sqlite3.connect(site.database) as connection:
        connection.execute("DELETE FROM django_migrations WHERE app = 'sessions'")
    before = site.dump()
    assert "older than this program: run manage.py migrate" in refused(site.run(*WORDS))
    assert site.dump() == before


def test_a_reader_that_has_gone_is_no_error(site: Site, repo: Path) -> None:
    site.good("workspace", "add", str(repo))
    for number in range(3):
        site.add_task("shop", f"{number} " + "x" * 400)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "task", "list", "-w", "shop"],
        env=site.environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_cannot_be_kept_is_told(site: Site) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *WORDS],
            env=site.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"Error: output: No space left on device\n")


def test_text_that_the_terminal_cannot_show_ends_nothing(site: Site, repo: Path) -> None:
    site.good("workspace", "add", str(repo))
    site.add_task("shop", "Grüße \N{SNOWMAN}")
    done = site.run("task", "list", "-w", "shop", PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert "Gr??e ?" in done.out


def test_what_is_stored_does_not_steer_the_terminal(site: Site, repo: Path) -> None:
    site.good("workspace", "add", str(repo))
    escape = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b5n"
    task = site.good(
        "task", "add", "a", "-w", "shop", "--description", "-", input=escape.encode()
    ).out.split()[0]
    shown = site.good("task", "show", task).out
    assert shown.endswith("\nred\n")
    assert "\x1b" not in shown
