import json
import os
import sys
import time
from pathlib import Path

import pytest

from batches.gates.catalog import workspace_gate
from batches.gates.outcomes import summarize
from batches.supervisor import client
from batches.supervisor.client import StopRequest
from batches.supervisor.record import LaunchSpec


def gate(name, *argv, timeout_s=60.0):
    return workspace_gate({"name": name, "argv": list(argv), "timeout_s": timeout_s})


def shell(name, code, **options):
    return gate(name, "sh", "-c", code, **options)


def eventually(condition, deadline_s=30.0):
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def outcomes(results):
    return {result.name: str(result.outcome) for result in results}


def test_gates_run_one_after_another_and_are_told_as_they_end(project):
    told = []
    gates = [shell("one", "echo 1"), shell("two", "echo no >&2; exit 3"), shell("three", "exit 0")]
    results = project.run(gates, on_result=told.append)
    assert told == results
    assert outcomes(results) == {"one": "passed", "two": "failed", "three": "passed"}
    assert results[1].summary == "exit code 3: no"
    assert results[0].output_tail == "1"
    assert summarize(results).state == "failed"


def test_zero_gates_give_no_results_and_no_proof(project):
    assert project.run([]) == []
    assert summarize(project.run([])).state == "unverified"


def test_a_missing_tool_is_neither_a_pass_nor_a_failure(project):
    results = project.run(["ruff", "pytest"], path="/nonexistent")
    results += project.run([gate("own", "no-such-tool"), gate("file", "tools/check")])
    assert set(outcomes(results).values()) == {"tool_missing"}
    assert summarize(results).state == "unverified"
    assert "ruff" in results[0].summary


def test_a_tool_that_cannot_be_started_counts_as_missing(project):
    project.write("check", "#!/no/such/interpreter\n")
    (project.tree / "check").chmod(0o755)
    (result,) = project.run([gate("own", "./check")])
    assert result.outcome == "tool_missing"


def test_pytest_without_tests_beside_a_passed_ruff_is_unverified(project):
    project.write("ruff.toml").write("a.py").write("pytest.ini")
    results = project.run(["ruff", "pytest"])
    assert outcomes(results) == {"ruff": "passed", "pytest": "nothing_collected"}
    assert summarize(results).state == "unverified"


def test_a_gate_that_hangs_is_ended_in_time_with_its_children_in_their_own_sessions(
    project, tmp_path
):
    pid_file = tmp_path / "pid"
    child = (
        "import os, time\n"
        "if os.fork(): time.sleep(600)\n"
        f"os.setsid(); open({str(pid_file)!r}, 'w').write(str(os.getpid()) + '.')\n"
        "time.sleep(600)\n"
    )
    (result,) = project.run([gate("hangs", sys.executable, "-I", "-S", "-c", child, timeout_s=1)])
    assert result.outcome == "timed_out"
    assert "1 s" in result.summary
    pid = pid_file.read_text()
    assert pid.endswith(".")
    assert is_gone(int(pid[:-1]))
    assert summarize([result]).state == "failed"


def test_a_child_that_outlives_a_gate_writes_nothing_more(project, tmp_path):
    late = tmp_path / "late"
    code = f"(setsid sh -c 'echo $$ > {tmp_path}/pid; sleep 600; touch {late}' &) ; " + (
        f"while [ ! -s {tmp_path}/pid ]; do :; done"
    )
    (result,) = project.run([shell("leaves", code)])
    assert result.outcome == "passed"
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_stop_ends_the_running_gate_and_lists_the_later_ones_as_cancelled(project):
    def should_stop():
        """Asks once: a stop counts though it is not said again."""
        if not (project.tree / "on").exists():
            return None
        (project.tree / "on").unlink()
        return StopRequest(reason="cancel", grace_s=0.1)

    gates = [shell("one", "exit 0"), shell("two", "touch on; sleep 600"), shell("three", "exit 0")]
    results = project.run(gates, should_stop=should_stop)
    assert outcomes(results) == {"one": "passed", "two": "cancelled", "three": "cancelled"}
    assert "not run" in results[2].summary
    assert not (project.run_dir / "gates" / "three").exists()
    assert summarize(results).state == "unverified"


def test_a_stop_that_came_first_starts_nothing(project):
    stop = StopRequest(reason="cancel", grace_s=0)
    results = project.run([shell("one", "touch ran")], should_stop=lambda: stop)
    assert outcomes(results) == {"one": "cancelled"}
    assert project.listing() == []


def test_a_gate_left_running_by_a_lost_worker_is_stopped_before_it_is_run_again(project):
    folder = project.run_dir / "gates" / "one"
    folder.mkdir(parents=True)
    pid_file = project.tree / "pid"
    spec = LaunchSpec(
        argv=("/bin/sh", "-c", "echo $$ > pid; sleep 600"),
        cwd=str(project.tree),
        env={"PATH": "/usr/bin:/bin"},
    )
    client.let_go(client.start(folder, spec))
    left = int(eventually(lambda: pid_file.exists() and pid_file.read_text()))
    (result,) = project.run([shell("one", "echo again")])
    assert (result.outcome, result.output_tail) == ("passed", "again")
    assert is_gone(left)


def test_a_gate_sees_nothing_of_the_servers_secrets(project, tmp_path, monkeypatch):
    for name in ("CODEFRAME_SECRET_KEY", "DATABASE_URL", "OPENAI_API_KEY", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "secret")
    dump = tmp_path / "env.json"
    code = f"import json, os; json.dump(dict(os.environ), open({str(dump)!r}, 'w'))"
    project.run([gate("dump", sys.executable, "-I", "-S", "-c", code)])
    env = json.loads(dump.read_text())
    assert "secret" not in env.values()
    assert env["HOME"] == str(project.run_dir / "gates" / "dump" / "home")
    assert env["TMPDIR"].startswith(str(project.run_dir))


def test_the_tail_of_the_output_is_kept_of_both_streams(project):
    code = "seq 1 20000; seq 1 20000 >&2; echo last; echo worst >&2; exit 1"
    (result,) = project.run([shell("loud", code)])
    assert "19999\n20000\nlast\n" in result.output_tail
    assert result.output_tail.endswith("20000\nworst")
    assert len(result.output_tail) <= 16 * 1024 + 1
    assert result.summary == "exit code 1: worst"


@pytest.mark.parametrize("place", ["tree/.venv", "tree/venv", "repository/.venv"])
def test_a_tool_of_the_project_goes_before_the_paths(project, script, tmp_path, place):
    script(f"{place}/bin/checker", "echo ours")
    script("path/checker", "echo theirs")
    path = f"{tmp_path}/path:/usr/bin:/bin"
    (result,) = project.run([gate("own", "checker")], path=path, repository=tmp_path / "repository")
    assert result.output_tail == "ours"
    (result,) = project.run([gate("own", "checker")], path=path, repository=Path("/nowhere"))
    assert result.output_tail == ("theirs" if place.startswith("repository") else "ours")


def test_the_trees_own_tool_goes_before_the_repositorys(project, script, tmp_path):
    script("tree/.venv/bin/checker", "echo of the tree")
    script("repository/.venv/bin/checker", "echo of the repository")
    (result,) = project.run([gate("own", "checker")], repository=tmp_path / "repository")
    assert result.output_tail == "of the tree"


def test_a_tool_finds_its_neighbours_by_name(project, script):
    script("tree/.venv/bin/checker", "helper")
    script("tree/.venv/bin/helper", "echo helped")
    (result,) = project.run([gate("own", "checker")])
    assert result.output_tail == "helped"


def test_a_relative_path_entry_names_nothing_in_the_servers_folder(project, script, monkeypatch):
    script("tree/checker", "echo here")
    monkeypatch.chdir(project.tree)
    (result,) = project.run([gate("own", "checker")], path=".:")
    assert result.outcome == "tool_missing"


def test_a_tree_that_is_gone_is_no_pass(project):
    project.tree.rmdir()
    (result,) = project.run([shell("one", "exit 0")])
    assert result.outcome != "passed"
