"""Names and contents of any kind, from the agent's tree to the landed branch."""

from pathlib import Path

import pytest

from tasks.models import Workspace
from tests.batches.conducting import last_run, repository, run_batch
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import Content, git, git_bytes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
ODD_NAMES = ("a b", "ä", "x\ny", "a -> b", "-rf", 'q"uote', "tab\there", "\udce9", " ", ":(top)")


def script(folder: Path, text: str) -> str:
    """A directive that runs this Python program in the agent's tree."""
    path = folder / "script.py"
    path.write_text(text)
    return f"sh python3 {path}"


def tree_of(workspace: Workspace, commit: str) -> set[bytes]:
    listed = git_bytes(repository(workspace), "ls-tree", "-r", "-z", "--name-only", commit)
    return set(filter(None, listed.split(b"\0")))


def raw(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def test_odd_names_are_captured_integrated_and_landed(tmp_path: Path) -> None:
    """Case 47: names with blanks, quotes, line breaks and arrows vanished from the diff."""
    workspace = make_workspace(tmp_path)
    text = f"for name in {ODD_NAMES!r}:\n    open(name, 'w').write('odd')\n"
    task = make_task(workspace, "a", script(tmp_path, text))
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.landing) == ("COMPLETED", "landed")
    expected = {raw(name) for name in ODD_NAMES} | {b"README.md"}
    assert tree_of(workspace, last_run(task).capture_commit) == expected
    assert tree_of(workspace, "main") == expected
    assert last_run(task).files_changed == len(ODD_NAMES)
    for name in ODD_NAMES:
        assert (repository(workspace) / name).read_text() == "odd"
    assert git(repository(workspace), "status", "--porcelain") == ""


def test_links_inside_the_tree_stay_links(tmp_path: Path) -> None:
    """Case 47."""
    workspace = make_workspace(tmp_path)
    make_task(workspace, "a", "write folder/a.txt x", "sh ln -s folder/a.txt link")
    assert run_batch(make_batch(workspace)).landing == "landed"
    link = repository(workspace) / "link"
    assert link.is_symlink()
    assert link.read_text() == "x\n"


def test_a_repository_inside_the_tree_is_refused_and_told(tmp_path: Path) -> None:
    """Case 47: a submodule."""
    workspace = make_workspace(tmp_path)
    task = make_task(
        workspace,
        "a",
        "write a.txt x",
        "sh git init -q sub",
        "sh cd sub && git commit -q --allow-empty -m sub",
    )
    batch = run_batch(make_batch(workspace))
    assert (batch.status, last_run(task).reason) == ("FAILED", "vetting_refused")
    assert {finding.rule for finding in last_run(task).findings.all()} == {"submodule"}


FILES: dict[str, Content] = {
    "dos.txt": b"one\r\ntwo\r\nthree\r\n",
    "mixed.txt": b"one\r\ntwo\nthree\r",
    "open.txt": b"no newline at the end",
    "latin.txt": b"caf\xe9\n",
    "binary.bin": bytes(range(256)),
}
EDITS = {
    "dos.txt": b"one\r\n2\r\nthree\r\n",
    "mixed.txt": b"1\r\ntwo\nthree\r",
    "open.txt": b"still no newline",
    "latin.txt": b"th\xe9\n",
    "binary.bin": bytes(reversed(range(256))),
}


@pytest.mark.parametrize("attributes", ["", "* text=auto\n"])
def test_contents_are_kept_byte_for_byte(tmp_path: Path, attributes: str) -> None:
    """Cases 48 and 49: CRLF files were rewritten, one odd byte broke the export."""
    files = FILES | ({".gitattributes": attributes} if attributes else {})
    workspace = make_workspace(tmp_path, files=files)
    edited = {name: data for name, data in EDITS.items() if not (attributes and b"\r" in data)}
    text = f"for name, data in {edited!r}.items():\n    open(name, 'wb').write(data)\n"
    task = make_task(workspace, "a", script(tmp_path, text))
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.landing) == ("COMPLETED", "landed")
    for name, data in edited.items():
        assert git_bytes(repository(workspace), "show", f"main:{name}") == data
        assert (repository(workspace) / name).read_bytes() == data
    assert last_run(task).files_changed == len(edited)
    assert git(repository(workspace), "status", "--porcelain") == ""


def test_a_change_survives_the_round_through_a_patch(tmp_path: Path) -> None:
    """Case 49: export, `git apply`, byte-identical."""
    workspace = make_workspace(tmp_path, files=FILES)
    text = f"for name, data in {EDITS!r}.items():\n    open(name, 'wb').write(data)\n"
    task = make_task(workspace, "a", script(tmp_path, text))
    run_batch(make_batch(workspace, land="none"))
    run = last_run(task)
    path = repository(workspace)
    patch = git_bytes(path, "diff", "--binary", run.base_commit, run.capture_commit)
    git(path, "apply", "-", input=patch)
    assert {name: (path / name).read_bytes() for name in EDITS} == EDITS
