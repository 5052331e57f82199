"""Settings come from the environment: right values are understood, wrong ones end the start."""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from codeframe_site import env

ROOT = Path(__file__).resolve().parents[2]
OURS = ("CODEFRAME_", "DATABASE_URL", "DJANGO_")
SHOW_KEY = "from codeframe_site import settings; print(settings.SECRET_KEY)"
# A slow machine: before each line of our functions another process may have its turn.
SHOW_KEY_AT_ONCE = """
import pathlib, sys, time
from codeframe_site import env
def pause(frame, event, value):
    code = frame.f_code
    if "codeframe_site" not in code.co_filename or code.co_filename.endswith("env.py"):
        return None
    if event == "line" and code.co_name != "<module>":
        time.sleep(0.03)
    return pause if code.co_name != "<module>" else None
sys.settrace(pause)
pathlib.Path(sys.argv[1]).touch()
while not pathlib.Path(sys.argv[2]).exists():
    pass
from codeframe_site import settings
print(settings.SECRET_KEY)
"""


@pytest.fixture(autouse=True)
def _forget_what_the_tests_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "READ", {})


def _start(folder: Path, *argv: str, **variables: str) -> "subprocess.Popen[str]":
    clean: Mapping[str, str] = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    return subprocess.Popen(
        [sys.executable, "-c", *argv],
        cwd=ROOT,
        env={**clean, "CODEFRAME_STATE_DIR": str(folder), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out.strip(), err.strip()


# -- DATABASE_URL --------------------------------------------------------------------------------


def test_no_database_url_means_sqlite_in_the_state_folder(tmp_path: Path) -> None:
    entry = env.database("", tmp_path)
    assert entry["ENGINE"] == "django.db.backends.sqlite3"
    assert entry["NAME"] == tmp_path / "codeframe.sqlite3"


def test_sqlite_at_another_place_gets_the_same_safe_options(tmp_path: Path) -> None:
    entry = env.database("sqlite:///srv/my%20data/x.sqlite3", tmp_path)
    assert entry["NAME"] == Path("/srv/my data/x.sqlite3")
    assert entry["OPTIONS"] == env.database("", tmp_path)["OPTIONS"]
    assert entry["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_every_part_of_a_postgres_url_is_understood(scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}://ada:p%40ss%2Fword@db.example:6543/code%20frame?sslmode=require"
    entry = env.database(url, tmp_path)
    assert entry["ENGINE"] == "django.db.backends.postgresql"
    assert (entry["USER"], entry["PASSWORD"]) == ("ada", "p@ss/word")
    assert (entry["HOST"], entry["PORT"]) == ("db.example", "6543")
    assert entry["NAME"] == "code frame"
    assert entry["OPTIONS"] == {"sslmode": "require"}


def test_a_postgres_url_may_leave_parts_out(tmp_path: Path) -> None:
    entry = env.database("postgres:///codeframe?host=/run/postgresql", tmp_path)
    assert (entry["NAME"], entry["HOST"], entry["PORT"]) == ("codeframe", "", "")
    assert entry["OPTIONS"] == {"host": "/run/postgresql"}


@pytest.mark.parametrize(
    "url",
    [
        "mysql://host/name",
        "postgres",
        "/srv/codeframe.sqlite3",
        "postgres://host:port/name",
        "postgres://host:99999/name",
        "postgres://[::1/name",
        "postgres://host/",
        "sqlite://",
    ],
)
def test_a_database_url_that_makes_no_sense_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^DATABASE_URL [^\n]+$"):
        env.database(url, tmp_path)


# -- other values --------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", ["", "four", "4.5", "0x10"])
def test_a_number_must_be_a_whole_number(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEFRAME_X", raw)
    with pytest.raises(ImproperlyConfigured, match=r"^CODEFRAME_X must be a whole number, not '"):
        env.integer("CODEFRAME_X", 4, "for this test")


def test_a_number_below_its_minimum_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEFRAME_X", "1")
    with pytest.raises(ImproperlyConfigured, match=r"^CODEFRAME_X must be at least 2, not 1$"):
        env.integer("CODEFRAME_X", 4, "for this test", minimum=2)


@pytest.mark.parametrize(
    ("raw", "value"),
    [("1", True), ("TRUE", True), (" yes ", True), ("on", True), ("0", False), ("", False)],
)
def test_a_flag_understands_the_usual_words(
    raw: str, value: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEFRAME_X", raw)
    assert env.flag("CODEFRAME_X", "for this test", default=not value) is value


def test_a_flag_with_another_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEFRAME_X", "maybe")
    with pytest.raises(ImproperlyConfigured, match=r"^CODEFRAME_X must be 1 or 0, not 'maybe'$"):
        env.flag("CODEFRAME_X", "for this test")


def test_blanks_in_a_list_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEFRAME_X", " a.example, ,b.example,")
    assert env.names("CODEFRAME_X", "", "for this test") == ["a.example", "b.example"]


def test_a_folder_is_absolute_and_may_begin_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("CODEFRAME_X", "~/state")
    assert env.folder("CODEFRAME_X", Path("/y"), "elsewhere", "help") == Path("/home/ada/state")


def test_what_is_read_is_noted_with_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEFRAME_X", "9")
    env.integer("CODEFRAME_X", 4, "for this test")
    assert env.READ == {"CODEFRAME_X": ("4", "for this test")}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CODEFRAME_WORKERS", "many"),
        ("CODEFRAME_WORKERS", "1"),
        ("CODEFRAME_DEBUG", "perhaps"),
        ("CODEFRAME_SPOOL_BYTES", "-1"),
        ("DATABASE_URL", "oracle://x/y"),
    ],
)
def test_a_wrong_variable_ends_the_start_with_one_sentence_that_names_it(
    name: str, value: str, tmp_path: Path
) -> None:
    code, _, err = _end(_start(tmp_path, SHOW_KEY, **{name: value}))
    assert code == 1
    last = err.splitlines()[-1]
    assert last.startswith(f"django.core.exceptions.ImproperlyConfigured: {name} must")


# -- the state folder and its key ----------------------------------------------------------------


def test_the_first_start_makes_a_private_folder_and_a_private_key(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    code, key, err = _end(_start(folder, SHOW_KEY))
    assert (code, err) == (0, "")
    assert len(key) >= 50
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "secret_key").stat().st_mode) == 0o600
    assert {file.name for file in folder.iterdir()} == {"secret_key"}


def test_the_next_start_finds_the_same_key(tmp_path: Path) -> None:
    first = _end(_start(tmp_path, SHOW_KEY))
    assert _end(_start(tmp_path, SHOW_KEY)) == first


def test_a_key_from_the_environment_is_used_and_not_stored(tmp_path: Path) -> None:
    key = "from-the-environment"
    assert _end(_start(tmp_path, SHOW_KEY, CODEFRAME_SECRET_KEY=key)) == (0, key, "")
    assert list(tmp_path.iterdir()) == []


def test_of_many_first_starts_at_once_all_get_one_key(tmp_path: Path) -> None:
    state, go = tmp_path / "state", tmp_path / "go"
    ready = [tmp_path / f"ready-{number}" for number in range(4)]
    started = [_start(state, SHOW_KEY_AT_ONCE, str(file), str(go)) for file in ready]
    deadline = time.monotonic() + 60
    while not all(file.exists() for file in ready):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    go.touch()
    ended = [_end(process) for process in started]
    assert [code for code, _, _ in ended] == [0] * 4
    keys = {key for _, key, _ in ended}
    assert len(keys) == 1
    assert len(keys.pop()) >= 50


def test_an_empty_key_file_never_becomes_an_empty_key(tmp_path: Path) -> None:
    """What a first start leaves that is killed, or finds the disk full, while it writes the key."""
    (tmp_path / "secret_key").touch()
    code, key, err = _end(_start(tmp_path, SHOW_KEY))
    assert (code == 0 and len(key) >= 50) or (code == 1 and "secret_key" in err.splitlines()[-1])


def test_options_are_a_json_object(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.options("X_OPTIONS", "") == {}
    monkeypatch.setenv("X_OPTIONS", '{"a": 1}')
    assert env.options("X_OPTIONS", "") == {"a": 1}
    for raw in ("[]", "{", "7", "[" * 100_000):
        monkeypatch.setenv("X_OPTIONS", raw)
        with pytest.raises(ImproperlyConfigured, match="X_OPTIONS must be a JSON object"):
            env.options("X_OPTIONS", "")
