import json
import os
import sys

import pytest

from batches.engines import UnknownEngineError, load
from batches.engines.base import EngineRequest, LaunchRefusedError, judge
from batches.engines.command import CommandEngine, check_options
from batches.engines.evidence import Evidence
from batches.engines.template import MAX_ARGUMENT_BYTES, CommandError, parse_command
from batches.reasons import Reason
from batches.supervisor import client, spool
from batches.supervisor.record import Cause, ExitRecord, LaunchSpec, Victim

PYTHON = [sys.executable, "-I", "-S", "-c"]
DUMP = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]))"
PROMPT = "Do 'this'\nand $that {workspace} é"


@pytest.fixture
def request_for(tmp_path):
    def make(argv, prompt=PROMPT, **options):
        for name in ("tree", "run"):
            (tmp_path / name).mkdir(exist_ok=True)
        prompt_file = tmp_path / "prompt.md"
        prompt_file.write_bytes(prompt if isinstance(prompt, bytes) else prompt.encode())
        return EngineRequest(
            prompt_file=prompt_file,
            tree=tmp_path / "tree",
            home=tmp_path / "run" / "home",
            run_dir=tmp_path / "run",
            task_id="7",
            run_id="run-8",
            batch_id="batch-9",
            attempt=2,
            options={"argv": argv, **options},
        )

    return make


def run(request, should_stop=lambda: None, **limits):
    """The engine's launch under the real supervisor: its outcome and its stdout."""
    engine = CommandEngine()
    launch = engine.prepare(request)
    spec = LaunchSpec(
        argv=launch.argv,
        cwd=str(request.tree),
        env=dict(launch.env),
        stdin_path=str(launch.stdin_path) if launch.stdin_path else None,
        **{"deadline_s": 60, "silence_s": 0, "grace_s": 1, **limits},
        stop_signal=launch.stop_signal,
        spool_bytes=8 * 1024 * 1024,
        orphan_s=60,
    )
    record = client.run_to_end(request.run_dir, spec, should_stop=should_stop)
    tails = [spool.tail(request.run_dir, name, 1024 * 1024).data for name in ("stdout", "stderr")]
    return engine.outcome(record, *tails, Evidence()), tails[0]


def test_the_program_sees_its_words_its_run_and_its_tree(request_for):
    words = ["{prompt_file}", "-t{task_id}", "{run_id}/{batch_id}", "two words", "{{x}}"]
    request = request_for([*PYTHON, DUMP, *words])
    outcome, stdout = run(request)
    argv, env, cwd = json.loads(stdout)
    assert outcome.kind == "completed"
    assert argv == [str(request.prompt_file), "-t7", "run-8/batch-9", "two words", "{x}"]
    assert cwd == env["CODEFRAME_WORKSPACE"] == str(request.tree)
    assert env["CODEFRAME_PROMPT_FILE"] == str(request.prompt_file)
    assert env["HOME"] == str(request.home)
    assert env["TMPDIR"] == str(request.run_dir / "tmp")
    ids = [env[f"CODEFRAME_{name}"] for name in ("TASK_ID", "RUN_ID", "BATCH_ID", "ATTEMPT")]
    assert ids == ["7", "run-8", "batch-9", "2"]


def test_secrets_of_the_server_reach_the_program_only_by_name(request_for, monkeypatch):
    for name in ("ONE_API_KEY", "OTHER_API_KEY", "CODEFRAME_SECRET_KEY", "DATABASE_URL"):
        monkeypatch.setenv(name, f"hidden-{name}")
    _, stdout = run(request_for([*PYTHON, DUMP], pass_env=["ONE_API_KEY"]))
    env = json.loads(stdout)[1]
    assert [value for value in env.values() if "hidden-" in value] == ["hidden-ONE_API_KEY"]


def test_the_prompt_can_be_the_last_argument(request_for):
    _, stdout = run(request_for([*PYTHON, DUMP, "--"], prompt_via="argument"))
    assert json.loads(stdout)[0] == ["--", PROMPT]


def test_the_prompt_can_be_a_part_of_any_word(request_for):
    _, stdout = run(request_for([*PYTHON, DUMP, "say={prompt}"]))
    assert json.loads(stdout)[0] == ["say=" + PROMPT]


def test_the_prompt_can_come_by_stdin_whatever_its_size_and_bytes(request_for):
    # The program writes more than a pipe holds before it reads.
    code = (
        "import sys; w = sys.stdout.buffer.write; w(b'x' * 200_000 + b'|'); "
        "w(sys.stdin.buffer.read())"
    )
    prompt = b"\0\xff" * 100_000
    outcome, stdout = run(request_for([*PYTHON, code], prompt=prompt, prompt_via="stdin"))
    assert outcome.kind == "completed"
    assert stdout.partition(b"|")[2] == prompt


def test_without_a_prompt_on_stdin_the_program_finds_its_end_at_once(request_for):
    outcome, stdout = run(request_for(["sh", "-c", "cat; echo ok"]))
    assert (outcome.kind, stdout) == ("completed", b"ok\n")


def test_a_prompt_that_just_fits_an_argument_is_passed(request_for):
    code = "import sys; print(len(sys.argv[1]))"
    prompt = "x" * MAX_ARGUMENT_BYTES
    outcome, stdout = run(request_for([*PYTHON, code], prompt=prompt, prompt_via="argument"))
    assert outcome.kind == "completed"
    assert int(stdout) == MAX_ARGUMENT_BYTES


@pytest.mark.parametrize(
    ("prompt", "says"),
    [("x" * (MAX_ARGUMENT_BYTES + 1), "131,072"), ("é" * 70_000, "140,000"), ("a\0b", "NUL")],
)
@pytest.mark.parametrize("how", [{"prompt_via": "argument"}, {"argv": [*PYTHON, "", "{prompt}"]}])
def test_a_prompt_that_no_argument_holds_is_refused_with_the_way_out(
    request_for, prompt, says, how
):
    options = {"argv": [*PYTHON, ""], **how}
    with pytest.raises(LaunchRefusedError, match="stdin or file") as caught:
        CommandEngine().prepare(request_for(prompt=prompt, **options))
    assert says in caught.value.sentence
    assert caught.value.reason is Reason.ENGINE_ERROR


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("exit 3", "The command ended with exit code 3."),
        ("echo nothing; echo 'no key' >&2; exit 1", "The command ended with exit code 1: no key"),
        ("printf 'a\\n b\\n\\n'; exit 1", "The command ended with exit code 1: b"),
        ("printf '\\351\\377\\000x'; exit 1", "The command ended with exit code 1: ��x"),
        ("kill -8 $$", "The command was killed by SIGFPE."),
    ],
)
def test_a_failure_says_how_it_ended_and_what_was_said_last(request_for, code, sentence):
    outcome, _ = run(request_for(["sh", "-c", code]))
    assert (outcome.kind, outcome.reason) == ("failed", Reason.ENGINE_ERROR)
    assert outcome.sentence == sentence


def test_an_agent_killed_from_outside_is_not_the_tasks_fault(request_for):
    outcome, _ = run(request_for(["sh", "-c", "kill -9 $$"]))
    assert (outcome.kind, outcome.reason) == ("failed", Reason.AGENT_KILLED)
    assert outcome.reason.infrastructure


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"deadline_s": 0.3}, Reason.TIMEOUT), ({"silence_s": 0.3}, Reason.STALLED)],
)
def test_a_program_that_runs_out_of_time_has_failed_for_that_reason(request_for, limits, reason):
    outcome, _ = run(request_for(["sleep", "600"]), **limits)
    assert (outcome.kind, outcome.reason) == ("failed", reason)


def test_a_stopped_program_is_stopped_and_not_failed(request_for):
    stop = client.StopRequest(reason="cancel", grace_s=0.1)
    outcome, _ = run(request_for(["sleep", "600"]), should_stop=lambda: stop)
    assert (outcome.kind, outcome.reason) == ("stopped", Reason.STOPPED)


@pytest.mark.parametrize(
    ("changed", "expects", "kind", "reason"),
    [
        (True, True, "completed", None),
        (False, True, "failed", Reason.NO_CHANGES),
        (False, False, "completed", None),
        (True, False, "completed", None),
    ],
)
def test_success_needs_a_change_where_one_is_expected(request_for, changed, expects, kind, reason):
    outcome, _ = run(request_for(["true"]))
    judged = judge(outcome, changed=changed, expects_changes=expects)
    assert (judged.kind, judged.reason) == (kind, reason)


def test_a_failure_without_changes_stays_what_it_was(request_for):
    outcome, _ = run(request_for(["false"]))
    assert judge(outcome, changed=False, expects_changes=True) is outcome


@pytest.mark.parametrize("program", ["no-such-program-here", "/no/such/program", "/etc/passwd"])
def test_a_missing_program_is_told_before_anything_is_made(request_for, tmp_path, program):
    problem = CommandEngine().check({"argv": [program]})
    assert problem.reason is Reason.ENGINE_MISSING
    assert program in problem.sentence
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LaunchRefusedError) as caught:
        CommandEngine().prepare(request_for([program]))
    assert caught.value.reason is Reason.ENGINE_MISSING


def test_a_program_of_the_tree_is_looked_for_when_there_is_a_tree(request_for):
    request = request_for(["{workspace}/agent"])
    assert CommandEngine().check(request.options) is None
    with pytest.raises(LaunchRefusedError):
        CommandEngine().prepare(request)
    agent = request.tree / "agent"
    agent.write_text("#!/bin/sh\necho here\n")
    agent.chmod(0o755)
    assert run(request)[1] == b"here\n"


def test_a_program_that_cannot_be_started_says_why(request_for):
    request = request_for(["{workspace}/agent"])
    agent = request.tree / "agent"
    agent.write_text("#!/no/such/interpreter\n")
    agent.chmod(0o755)
    outcome, _ = run(request)
    assert (outcome.kind, outcome.reason) == ("failed", Reason.ENGINE_ERROR)
    assert str(agent) in outcome.sentence


def test_a_program_with_survivors_has_not_ended_well():
    survivor = Victim(pid=4711, name="stuck")
    record = ExitRecord(cause=Cause.EXITED, code=0, survivors=(survivor,))
    outcome = CommandEngine().outcome(record, b"", b"", Evidence())
    assert outcome.kind == "failed"
    assert "stuck (4711)" in outcome.sentence


def test_a_shell_that_was_asked_for_reads_the_prompts_file(request_for):
    argv = parse_command('sh -c "cat <$CODEFRAME_PROMPT_FILE | tail -n 1"')
    assert run(request_for(argv, prompt="a\nb\n"))[1] == b"b\n"


def test_a_program_is_found_on_the_path_and_started_by_its_whole_name(
    request_for, tmp_path, monkeypatch
):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "my-agent").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    request = request_for(["my-agent"])
    assert CommandEngine().check(request.options) is None
    assert CommandEngine().prepare(request).argv == (str(tools / "my-agent"),)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"argv": "sh -c x"},
        {"argv": ["sh", "{oops}"]},
        {"argv": ["sh"], "prompt_via": "mail"},
        {"argv": ["sh"], "pass_env": ["HOME"]},
        {"argv": ["{prompt}/x"]},
    ],
)
def test_unsound_options_are_a_problem_and_not_an_exception(options):
    with pytest.raises(CommandError) as caught:
        check_options(options)
    problem = CommandEngine().check(options)
    assert problem.sentence == str(caught.value)


def test_engines_are_loaded_by_name():
    assert isinstance(load("command"), CommandEngine)
    assert load("command").parser({"argv": ["x"]}) is None
    with pytest.raises(UnknownEngineError, match="command"):
        load("comand")
