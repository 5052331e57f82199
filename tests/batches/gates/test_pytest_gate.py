"""Each outcome, by a real pytest in a small tree."""

import sys
import sysconfig
import venv

import pytest

PASSES = "def test_a():\n    pass\n"


def test_tests_that_pass_are_a_pass(project):
    result = project.write("test_a.py", PASSES).pytest()
    assert (result.outcome, result.summary, result.exit_code) == ("passed", "1 passed", 0)
    assert result.findings == ()
    assert result.duration_s > 0


def test_a_failure_says_where_and_what(project):
    project.write("tests/test_a.py", PASSES + "\n\nclass TestB:\n    def test_b(self):\n"
                  "        assert 1 + 1 == 3\n")  # fmt: skip
    result = project.pytest()
    assert (result.outcome, result.summary) == ("failed", "1 passed, 1 failed")
    (finding,) = result.findings
    assert (finding.file, finding.line) == ("tests/test_a.py", 6)
    assert finding.name.endswith("TestB.test_b")
    assert "assert (1 + 1) == 3" in finding.message
    assert "assert 1 + 1 == 3" in result.output_tail


def test_a_module_that_cannot_be_imported_is_a_failure_with_its_cause(project):
    result = project.write("test_a.py", "import no_such_module\n").pytest()
    assert (result.outcome, result.exit_code) == ("failed", 2)
    assert "No module named 'no_such_module'" in result.findings[0].message


def test_a_broken_fixture_is_a_failure(project):
    project.write("test_a.py", "import pytest\n@pytest.fixture\ndef f():\n    raise OSError('x')\n"
                  "def test_a(f):\n    pass\n")  # fmt: skip
    result = project.pytest()
    assert (result.outcome, result.summary) == ("failed", "1 error")
    assert "x" in result.findings[0].message


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": "[pytest]\n"},
        {"tests/__init__.py": ""},
        {"test_a.py": "x = 1\n"},
        {"test_a.py": "import pytest\n@pytest.mark.skip\ndef test_a():\n    pass\n"},
        {"test_a.py": "import pytest\npytest.skip('all', allow_module_level=True)\n"},
    ],
)
def test_no_tests_and_only_skipped_tests_are_nothing_collected(project, files):
    for name, content in files.items():
        project.write(name, content)
    assert project.pytest().outcome == "nothing_collected"


def test_a_skipped_test_beside_a_passed_one_is_a_pass(project):
    project.write("test_a.py", PASSES + "import pytest\n@pytest.mark.skip\ndef test_b():\n    0\n")
    assert project.pytest().summary == "1 passed, 1 skipped"
    assert project.pytest().outcome == "passed"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"pytest.ini": "[pytest]\naddopts = --no-such-option\n"}, 4),
        ({"conftest.py": "import no_such_module\n"}, 4),
        ({"conftest.py": "def pytest_collection(session):\n    raise OSError('broken')\n"}, 3),
    ],
)
def test_a_pytest_that_cannot_work_is_an_error(project, files, code):
    for name, content in {"test_a.py": PASSES, **files}.items():
        project.write(name, content)
    result = project.pytest()
    assert (result.outcome, result.exit_code) == ("error", code)


@pytest.mark.parametrize("code", [0, 1, 17])
def test_code_that_leaves_in_the_middle_proves_nothing(project, code):
    project.write("test_a.py", f"import os\ndef test_a():\n    os._exit({code})\n")
    result = project.pytest()
    assert (result.outcome, result.exit_code) == ("error", code)
    assert "no readable report" in result.summary


def test_an_exit_code_that_was_bent_to_0_does_not_hide_a_failure(project):
    project.write("test_a.py", "def test_a():\n    assert False\n")
    project.write("conftest.py", "import pytest\n@pytest.hookimpl(trylast=True)\n"
                  "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n")  # fmt: skip
    result = project.pytest()
    assert (result.outcome, result.exit_code) == ("failed", 0)


def test_a_crash_is_an_error_that_names_the_signal(project):
    project.write("test_a.py", "import os\ndef test_a():\n    os.kill(os.getpid(), 11)\n")
    result = project.pytest()
    assert result.outcome == "error"
    assert "signal 11" in result.summary


@pytest.mark.parametrize("plant", ["os.mkfifo(p)", "os.symlink('/dev/zero', p)", "open(p, 'w')"])
def test_a_report_that_was_tampered_with_blocks_nobody_and_proves_nothing(project, plant):
    project.write("test_a.py", "import os, sys\ndef test_a(request):\n"
                  "    p = request.config.option.xmlpath\n"
                  f"    {plant}\n    os._exit(0)\n")  # fmt: skip
    assert project.pytest().outcome == "error"


def test_output_that_is_not_text_under_the_c_locale_is_kept_readable(project, monkeypatch):
    monkeypatch.setenv("LANG", "C")
    monkeypatch.setenv("LC_ALL", "C")
    lines = [
        "import os",
        "def test_a():",
        r"    os.write(2, b'<\xe9\xff\0>')",
        r"    assert 0, '\xe9\udcff'",
    ]
    project.write("test_a.py", "\n".join(lines))
    result = project.write("pytest.ini", "[pytest]\naddopts = -s\n").pytest()
    assert result.outcome == "failed"
    assert "<\ufffd\ufffd\ufffd>" in result.output_tail
    for text in (result.output_tail, result.findings[0].message):
        assert "\0" not in text
        text.encode()


def test_nothing_is_left_in_the_tree(project):
    project.write("pkg/__init__.py").write("pkg/tests/__init__.py")
    project.write("pkg/tests/test_a.py", "def test_a(cache, tmp_path):\n    cache.set('a/b', 1)\n")
    project.write("test_b.py", "import pkg\n" + PASSES)
    before = project.listing()
    result = project.pytest()
    assert (result.outcome, result.tree_changed) == ("passed", ())
    assert project.listing() == before


@pytest.mark.parametrize(
    ("code", "paths"),
    [
        ("open('new.txt', 'w').close()", ("new.txt",)),
        ("open('data.txt', 'w').write('other')", ("data.txt",)),
        ("os.remove('data.txt'), os.remove('b.txt')", ("b.txt", "data.txt")),
        ("open('x', 'w').close(), os.remove('x')", ()),
    ],
)
def test_what_the_tests_change_in_the_tree_is_said(project, code, paths):
    project.write("data.txt", "data").write("b.txt")
    result = project.write("test_a.py", f"import os\ndef test_a():\n    {code}\n").pytest()
    assert result.outcome == "passed"
    assert result.tree_changed == paths
    assert ("changed the tree" in result.summary) is bool(paths)


def test_an_environment_whose_pytest_is_a_husk_counts_as_without(project):
    venv.create(project.tree / ".venv", symlinks=True)
    tool = project.tree / ".venv" / "bin" / "pytest"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert project.write("test_a.py", PASSES).pytest().outcome == "tool_missing"


def test_an_environment_made_for_the_repository_tests_the_trees_code(project, tmp_path):
    """As after an install in place: the environment's own path leads to the repository."""
    repository = tmp_path / "repository"
    (repository / "src").mkdir(parents=True)
    (repository / "src" / "lib.py").write_text("VALUE = 'old'\n")
    venv.create(repository / ".venv", symlinks=True)
    packages = next((repository / ".venv" / "lib").glob("*/site-packages"))
    lines = [sysconfig.get_path("purelib"), str(repository / "src")]
    (packages / "own.pth").write_text("\n".join(lines))
    tool = repository / ".venv" / "bin" / "pytest"
    tool.write_text(f"#!{sys.executable}\n")
    tool.chmod(0o755)

    project.write("src/lib.py", "VALUE = 'new'\n")
    project.write("test_a.py", "import lib, sys\ndef test_a():\n    assert lib.VALUE == 'new'\n"
                  f"    assert sys.prefix == {str(repository / '.venv')!r}\n")  # fmt: skip
    result = project.pytest(path="/usr/bin:/bin", repository=repository)
    assert (result.outcome, result.findings) == ("passed", ())
