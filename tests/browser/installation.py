"""A whole installation to look at in a browser: web server, worker and one signed-in operator."""

import re
from pathlib import Path
from typing import Any

from tests.commands.site import Site, Started, wait_for
from tests.repos import make_repository

PYTEST_INI = "[pytest]\naddopts =\n"


class Installation(Site):
    """`address` is known once `open` has come back."""

    def __init__(self, folder: Path, empty: bytes, **variables: str) -> None:
        super().__init__(folder, empty, CODEFRAME_WORKSPACE_ROOTS=str(folder), **variables)
        self.address = ""
        self._web: Started | None = None

    def open(self) -> None:
        """At the address it had before, if it had one."""
        port = self.address.rstrip("/").rpartition(":")[2] or "0"
        web = self._web = self.start("web", "--port", port)
        self.address = wait_for(lambda: _address(web), "the web server says where it is")

    def shut(self) -> None:
        assert self._web is not None
        self._web.kill()

    def work(self) -> Started:
        worker = self.start("worker", CODEFRAME_WORKERS="2")
        wait_for(lambda: list((self.state / "workers").glob("*")), "the worker is there")
        return worker

    def link(self, user: str = "") -> str:
        """A sign-in link, whole."""
        words = ["signinlink", *(["--user", user] if user else [])]
        path = re.sub(r"^http://[^/]+/", "", self.quickly(*words).out.strip())
        return f"{self.address}{path}"

    def shop(self, name: str = "shop", **files: str) -> str:
        """A registered repository without gates; gives the workspace's id."""
        path = make_repository(self.folder / name, {"README.md": "hello\n", **files})
        self.good("workspace", "add", str(path), "--name", name, "--no-gates")
        return self.id_of("tasks_workspace", "name", name)

    def ask(self, task: str, question: str) -> None:
        """As a run asks: through the database that the server reads."""
        script = (
            "from tasks.models import Task; from tasks.blockers import ask\n"
            f"ask(task=Task.objects.get(id={task!r}), question={question!r}, by='test')"
        )
        self.good("shell", "--no-imports", "-c", script)

    def many_events(self, workspace: str, count: int) -> None:
        """As fast as the log takes them, one transaction each."""
        script = (
            "from tasks.models import Task\nfrom tasks.registry import update_task\n"
            f"task = Task.objects.filter(workspace_id={workspace!r}).first()\n"
            f"for n in range({count}): update_task(task=task, changes={{'priority': n}})"
        )
        self.good("shell", "--no-imports", "-c", script)

    def id_of(self, table: str, column: str, value: Any) -> str:
        """As pages have it in their addresses."""
        found = self.rows(f"SELECT id FROM {table} WHERE {column} = ?", value)
        digits = str(found[-1][0])
        return "-".join(digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


def _address(web: Started) -> str:
    assert web.process.poll() is None, web.err
    found = re.search(r"http://127\.0\.0\.1:\d+/", web.out)
    return found[0] if found else ""
