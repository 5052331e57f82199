"""`manage.py web` as it is started in production: a real process, real sockets, real signals."""

import contextlib
import http.client
import re
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.codeframe_site.server_process import Web, eventually, manage, web
from tests.codeframe_site.slow_urls import BODY

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("migrated")
    done = manage(state, "migrate", "--verbosity", "0")
    assert done.returncode == 0, done.stderr
    return state


@pytest.fixture
def state(migrated: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(migrated, tmp_path / "state"))


@pytest.fixture
def slow(state: Path) -> Iterator[Web]:
    with web(state, "--drain", "600", **_slow_site(state)) as server:
        yield server


def _slow_site(state: Path) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "tests.codeframe_site.slow_site",
        "SLOW_FOLDER": str(state),
    }


class Request(threading.Thread):
    """A GET in the background; `status` stays 0 when the connection broke."""

    def __init__(self, port: int, path: str) -> None:
        super().__init__(daemon=True)
        self.status = 0
        self.size = 0
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self._path = path
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._connection.request("GET", self._path)
            response = self._connection.getresponse()
            self.size = len(response.read())
            self.status = response.status


def refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_pages_and_styles_and_ends_with_0(state: Path, number: signal.Signals) -> None:
    with web(state) as server:
        for path, status in (("/", 302), ("/static/codeframe/site.css", 200), ("/nothing", 404)):
            request = Request(server.port, path)
            request.join(60)
            assert request.status == status, path
        assert re.search(r"http://127\.0\.0\.1:\d+/sign-in/[\w-]+/", server.output)
        server.tell(number)
        assert server.wait() == 0
        assert "Traceback" not in server.output


def test_a_request_under_way_is_finished_and_no_new_one_is_taken(slow: Web, state: Path) -> None:
    request = Request(slow.port, "/slow/")
    eventually((state / "entered").exists, "the request is under way")
    slow.tell()
    eventually(lambda: refused(slow.port), "it stops listening")
    assert request.is_alive()
    (state / "go").touch()
    request.join(60)
    assert (request.status, request.size) == (200, len(BODY))
    assert slow.wait() == 0


def test_a_request_that_takes_too_long_is_cut_off_and_said(state: Path) -> None:
    with web(state, "--drain", "0.2", **_slow_site(state)) as server:
        request = Request(server.port, "/slow/")
        eventually((state / "entered").exists, "the request is under way")
        server.tell()
        assert server.wait() == 0
        request.join(60)
        assert request.status == 0
        assert "1 request did not end in time" in server.output


def test_a_second_signal_ends_it_at_once(slow: Web, state: Path) -> None:
    Request(slow.port, "/slow/")
    eventually((state / "entered").exists, "the request is under way")
    slow.tell()
    eventually(lambda: refused(slow.port), "it stops listening")
    slow.tell(signal.SIGINT)
    assert slow.wait() == 0


def test_an_open_event_stream_is_not_waited_for(slow: Web, state: Path) -> None:
    Request(slow.port, "/stream/")
    eventually((state / "entered").exists, "the stream is open")
    slow.tell()
    assert slow.wait() == 0
    assert "did not end in time" not in slow.output


def test_a_port_that_is_taken_is_one_clear_line(state: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = manage(state, "web", CODEFRAME_PORT=port)
    assert done.returncode == 1
    assert f"port {port} is taken by another program; CODEFRAME_PORT" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_it_does_not_open_to_the_network_by_accident(state: Path) -> None:
    done = manage(state, "web", "--bind", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "CODEFRAME_SECRET_KEY" in done.stderr


def test_an_old_database_is_refused_with_the_command_that_helps(state: Path) -> None:
    assert manage(state, "migrate", "auth", "0011", "--fake").returncode == 0
    done = manage(state, "web", "--port", "0")
    assert done.returncode == 2
    assert done.stderr.strip().endswith("run manage.py migrate")


@pytest.mark.parametrize(
    "words", [["--port", "65536"], ["--port", "http"], ["--drain", "-1"], ["--drain", "nan"]]
)
def test_senseless_options_are_one_line(state: Path, words: list[str]) -> None:
    done = manage(state, "web", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_port_of_the_settings_that_is_none_is_one_line(state: Path) -> None:
    done = manage(state, "web", CODEFRAME_PORT="65536")
    assert done.returncode == 2
    assert "'65536' is no port" in done.stderr
    assert done.stderr.count("\n") == 1
