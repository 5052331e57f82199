import os
import subprocess
import sys
from graphlib import TopologicalSorter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from codeframe_site.demo import agent, repository

DEMO = Path(repository.__file__).parent
AGENT = DEMO / "agent.py"
TASKS: dict[str, dict[str, Any]] = {
    task["key"]: task for task in yaml.safe_load((DEMO / "tasks.yaml").read_text("utf-8"))
}
PATIENCE_S = 60


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "pocketbook"
    repository.build(path)
    return path


@pytest.fixture
def tree(built: Path, tmp_path: Path) -> Path:
    path = tmp_path / "work" / "tree"
    subprocess.run(["git", "clone", "-q", built, path], check=True, timeout=PATIENCE_S)
    return path


def ancestors(key: str) -> list[str]:
    """What a task needs before it, in an order that works."""
    needed: dict[str, list[str]] = {}
    waiting = [key]
    while waiting:
        found = waiting.pop()
        needed[found] = TASKS[found].get("depends_on", [])
        waiting += needed[found]
    return [found for found in TopologicalSorter(needed).static_order() if found != key]


def environment(tree: Path, **more: str) -> dict[str, str]:
    home = tree.parent / "home"
    home.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), **more}


def prompt_for(key: str) -> str:
    return f"# {TASKS[key]['title']}\n\n{TASKS[key]['description']}\n\nWork in this directory.\n"


def run_agent(tree: Path, prompt: str, *, attempt: int = 1) -> subprocess.CompletedProcess[str]:
    prompt_file = tree.parent / "prompt.md"
    prompt_file.write_text(prompt, encoding="utf-8")
    return subprocess.run(
        [sys.executable, AGENT],
        cwd=tree,
        env=environment(
            tree,
            CODEFRAME_PROMPT_FILE=str(prompt_file),
            CODEFRAME_ATTEMPT=str(attempt),
            CODEFRAME_DEMO_PACE="0",
        ),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def do(tree: Path, key: str) -> None:
    done = run_agent(tree, prompt_for(key), attempt=2)
    assert done.returncode == 0, done.stderr


def run_tests(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tree,
        env=environment(tree, PYTHONDONTWRITEBYTECODE="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def git(tree: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", tree, *words], capture_output=True, check=True, text=True)
    return done.stdout


def listing(*folders: Path) -> dict[Path, tuple[int, int]]:
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


def test_the_repository_is_clean_on_main_with_a_short_history(built: Path) -> None:
    assert git(built, "status", "--porcelain") == ""
    assert git(built, "branch", "--show-current") == "main\n"
    assert git(built, "log", "--format=%an: %s").splitlines() == [
        "Pocketbook Team: Test that amounts are read to the cent: 19.99 is not",
        "Pocketbook Team: Start pocketbook: amounts as whole cents",
    ]
    assert git(built, "ls-files", "--", "tests", ".gitignore").split() == [
        ".gitignore",
        "tests/test_money.py",
    ]


def test_the_user_s_git_configuration_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text("[commit]\ngpgSign = true\n[gpg]\nprogram = false\n[core]\nhooksPath = /x\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    repository.build(tmp_path / "built")
    assert (tmp_path / "built" / ".git" / "refs" / "heads" / "main").exists()


def test_nothing_is_built_over_what_is_there(built: Path) -> None:
    before = listing(built)
    with pytest.raises(FileExistsError):
        repository.build(built)
    assert listing(built) == before


def test_the_tests_fail_at_the_base(tree: Path) -> None:
    done = run_tests(tree)
    assert done.returncode == 1
    assert "3 failed, 3 passed" in done.stdout


def test_the_tasks_are_a_diamond_two_of_their_own_and_a_join() -> None:
    assert {key: task.get("depends_on", []) for key, task in TASKS.items()} == {
        "money": [],
        "entries": ["money"],
        "categories": ["entries"],
        "months": ["entries"],
        "report": ["categories", "months"],
        "display": ["money"],
        "limits": ["money"],
        "cli": ["report", "display", "limits"],
    }
    assert set(ancestors("cli")) == set(TASKS) - {"cli"}
    assert all(agent.find_step(task["description"]) == key for key, task in TASKS.items())


def test_tasks_that_may_run_side_by_side_touch_different_files() -> None:
    for one, other in combinations(TASKS, 2):
        if one not in ancestors(other) and other not in ancestors(one):
            assert not set(agent.files_of(one)) & set(agent.files_of(other)), (one, other)


def test_what_an_interpreter_left_in_a_step_is_not_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "__pycache__/a.pyc", "b/__pycache__/b.pyc"):
        path = tmp_path / "step" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr(agent, "STEPS", tmp_path)
    assert agent.files_of("step") == [Path("a.py")]


@pytest.mark.parametrize("key", TASKS)
def test_the_tests_pass_after_each_task_on_what_it_depends_on_alone(tree: Path, key: str) -> None:
    for needed in ancestors(key):
        do(tree, needed)
    before = listing(tree)
    do(tree, key)
    assert listing(tree) != before
    done = run_tests(tree)
    assert done.returncode == 0, done.stdout


def test_the_tests_of_every_task_need_its_code(tree: Path) -> None:
    for key in (*ancestors("cli"), "cli"):
        do(tree, key)
    for module in (tree / "pocketbook").glob("*.py"):
        if module.name != "__init__.py":
            module.unlink()
    output = run_tests(tree).stdout
    assert [key for key in TASKS if f"ERROR tests/test_{key}.py" not in output] == []


def test_the_flaky_step_fails_at_first_with_its_work_half_done(tree: Path) -> None:
    for needed in ancestors(agent.FLAKY_STEP):
        do(tree, needed)
    first = run_agent(tree, prompt_for(agent.FLAKY_STEP), attempt=1)
    assert first.returncode == 1
    assert first.stderr == "error: the connection to the model was lost in mid-answer\n"
    assert git(tree, "status", "--porcelain", "tests/test_months.py") != ""
    assert run_tests(tree).returncode != 0

    assert run_agent(tree, prompt_for(agent.FLAKY_STEP), attempt=2).returncode == 0
    assert run_tests(tree).returncode == 0


@pytest.mark.parametrize("key", [key for key in TASKS if key != agent.FLAKY_STEP])
def test_every_other_step_succeeds_at_once(tree: Path, key: str) -> None:
    done = run_agent(tree, prompt_for(key), attempt=1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"reading the task: step {key}"


@pytest.mark.parametrize(
    "prompt", ["Fix the build", "demo-step: ../../etc", "demo-step: nothing", "no demo-step: money"]
)
def test_an_unknown_prompt_is_refused_in_one_line_and_nothing_is_touched(
    tree: Path, prompt: str
) -> None:
    done = run_agent(tree, prompt)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: no line 'demo-step: NAME' with a known name in ")
    assert done.stderr.count("\n") == 1
    assert git(tree, "status", "--porcelain") == ""


def test_it_writes_nowhere_but_in_its_directory(tree: Path) -> None:
    run_agent(tree, "warm up: makes the prompt file and the home")
    prompt_file = tree.parent / "prompt.md"

    def outside() -> dict[Path, tuple[int, int]]:
        seen = listing(DEMO, tree.parent)
        return {p: s for p, s in seen.items() if tree not in p.parents and p != prompt_file}

    before = outside()
    for key in TASKS:
        do(tree, key)
    assert outside() == before


def test_progress_is_seen_while_it_works(tree: Path) -> None:
    prompt_file = tree.parent / "prompt.md"
    prompt_file.write_text(prompt_for("money"), encoding="utf-8")
    child = subprocess.Popen(
        [sys.executable, AGENT],
        cwd=tree,
        env=environment(tree, CODEFRAME_PROMPT_FILE=str(prompt_file), CODEFRAME_DEMO_PACE="40"),
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"reading the task: step money\n"
        assert git(tree, "status", "--porcelain") == ""
    finally:
        child.kill()
        child.communicate(timeout=PATIENCE_S)
