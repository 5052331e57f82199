"""workspace, task and engine, used as they are meant to be."""

import os
from pathlib import Path

from tests.commands.site import Site
from tests.fakes import AGENT
from tests.repos import git, make_repository

READY = ("runbatch", "-w", "shop", "--engine", "fixer", "--all-ready")


def test_a_workspace_is_found_by_name_path_and_id(site: Site, repo: Path) -> None:
    out = site.good("workspace", "add", str(repo), "--gate", "unit=make test").out
    assert out == f"shop  {repo}\n"
    ((gates, key),) = site.rows("SELECT gates, id FROM tasks_workspace")
    assert gates == '[{"name": "unit", "argv": ["make", "test"]}]'
    link = repo.parent / "link"
    link.symlink_to(repo)
    for name in ("shop", str(repo), f"{repo}/", str(link), key, key[:4]):
        assert site.good("task", "list", "-w", name).lines == ["ID  STATUS  P  AFTER  TITLE"]


def test_two_repositories_of_one_name_get_two_names(site: Site, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        path = make_repository(tmp_path / folder / "shop", {"x": "x"})
        site.good("workspace", "add", str(path))
    assert [line.split()[0] for line in site.good("workspace", "list").lines[1:]] == [
        "shop",
        "shop-2",
    ]


def test_a_bare_repository_is_a_workspace(site: Site, repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare")
    assert site.good("workspace", "add", str(tmp_path / "bare")).code == 0


def test_a_workspace_with_tasks_alone_is_removed(site: Site, repo: Path) -> None:
    site.good("workspace", "add", str(repo))
    site.add_task("shop", "a")
    out = site.good("workspace", "remove", "shop").out
    assert out == f"shop is no longer registered; {repo} is as it was\n"
    assert site.rows("SELECT * FROM tasks_task") == []


def test_a_workspace_whose_batch_is_alive_is_not_removed(shop: Site) -> None:
    shop.add_task("shop", "a")
    batch = shop.good(*READY, "--detach").out.strip().replace("-", "")
    before = shop.dump()
    for words in (("remove", "shop"), ("remove", "shop", "--delete-history")):
        done = shop.quickly("workspace", *words)
        assert (done.code, done.out) == (3, "")
        assert f"batch {batch[:8]} is PENDING" in done.err
    assert shop.dump() == before


def test_history_is_deleted_only_when_said_and_never_the_repository(
    shop: Site, repo: Path, tmp_path: Path
) -> None:
    shop.add_task("shop", "a")
    shop.add_task("shop", "bad", "write b.txt b", "exit 1")
    other = make_repository(tmp_path / "other", {"x": "x"})
    shop.good("workspace", "add", str(other), "--no-gates")
    shop.add_task("other", "c")
    assert shop.run(*READY).code == 1
    assert shop.run("runbatch", "-w", "other", "--engine", "fixer", "--all-ready").code == 0
    refs = git(repo, "for-each-ref")
    assert "refs/codeframe/runs/" in refs

    before = shop.dump()
    done = shop.quickly("workspace", "remove", "shop")
    assert (done.code, done.out) == (2, "")
    assert "has a history (1 batch); say --delete-history" in done.err
    assert shop.dump() == before

    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub" / "precious").write_text("keep")
    ((run,),) = shop.rows("SELECT id FROM batches_run WHERE title = 'bad'")
    (shop.state / "runs" / run / "link").symlink_to(outside)
    (shop.state / "trees" / run).symlink_to(outside)
    theirs = shop.rows(
        "SELECT r.id FROM batches_run r JOIN batches_batch b ON b.id = r.batch_id "
        "JOIN tasks_workspace w ON w.id = b.workspace_id WHERE w.name = 'other'"
    )
    shop.good("workspace", "remove", "shop", "--delete-history")

    assert git(repo, "for-each-ref") == refs
    git(repo, "fsck", "--full", "--strict")
    assert (outside / "sub" / "precious").read_text() == "keep"
    assert os.listdir(shop.state / "runs") == [theirs[0][0]]
    assert os.listdir(shop.state / "trees") == []
    assert len(os.listdir(shop.state / "stores")) == 1
    assert shop.rows("SELECT name FROM tasks_workspace") == [("other",)]
    assert shop.rows("SELECT count(*) FROM batches_batch") == [(1,)]
    assert shop.good("workspace", "add", str(repo)).out.startswith("shop  ")


def test_a_task_is_added_shown_moved_and_deleted(site: Site, repo: Path) -> None:
    site.good("workspace", "add", str(repo))
    base = site.add_task("shop", "base", ready=False)
    words = ("--key", "top", "--priority", "2", "--estimate", "1.5", "--complexity", "3")
    more = ("--uncertainty", "low", "--no-changes", "--depends-on", base)
    top = site.good("task", "add", "top", "-w", "shop", *words, *more).out.split()[0]
    shown = site.good("task", "show", top).out
    for line in ("key:             top", "depends on:      base", "estimated hours: 1.5"):
        assert f"{line}\n" in shown
    listed = site.good("task", "list", "-w", "shop").lines
    assert [line.split() for line in listed[1:]] == [
        [base, "BACKLOG", "0", "base"],
        [top, "BACKLOG", "2", base, "top"],
    ]
    moved = site.good("task", "set-status", "ready", top, base, top)
    assert moved.lines == [f"{top}  READY  top", f"{base}  READY  base"]
    assert len(site.good("task", "list", "-w", "shop", "--status", "Ready").lines) == 3
    assert site.good("task", "delete", base).lines == [f"{base}  deleted  base"]
    assert "AFTER" not in site.good("task", "list", "-w", "shop").lines[0]


def test_a_file_is_imported_and_taken_over(site: Site, repo: Path, tmp_path: Path) -> None:
    site.good("workspace", "add", str(repo))
    path = tmp_path / "tasks.md"
    path.write_text("1. [ ] a\n2. [ ] b\n")
    first = site.good("task", "import", str(path), "-w", "shop").lines
    assert [line.split()[1:] for line in first] == [["BACKLOG", "a"], ["BACKLOG", "b"]]
    path.write_text("1. [ ] a\n2. [ ] b\n3. [ ] c\n")
    again = site.good("task", "import", str(path), "-w", "shop", "--ready", "--update").lines
    assert again[:2] == first
    assert again[2].split()[1:] == ["READY", "c"]


def test_an_engine_is_added_listed_and_removed(site: Site) -> None:
    words = ("--prompt-via", "stdin", "--pass-env", "API_KEY", "--pass-env", "OTHER")
    site.good("engine", "add", "fixer", *words, "--", *AGENT, "--say", "a b")
    ((via, env),) = site.rows("SELECT prompt_via, pass_env FROM batches_commandengine")
    assert (via, env) == ("stdin", '["API_KEY", "OTHER"]')
    (_, row) = site.good("engine", "list").lines
    assert row.split()[:3] == ["fixer", "stdin", "ok"]
    assert row.endswith("--say 'a b'")
    assert site.good("engine", "remove", "fixer").out == "fixer is removed\n"


def test_an_engine_whose_program_has_gone_is_listed_as_missing(site: Site, tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    site.good("engine", "add", "mine", "--", str(program))
    program.unlink()
    assert f"{program} is not" in site.good("engine", "list").lines[1]


def test_drain_without_a_worker_has_nothing_to_do(site: Site) -> None:
    assert site.good("drain").out == "no worker runs on this machine\n"
