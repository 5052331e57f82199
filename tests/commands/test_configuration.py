"""workspace config, trust and recipe, as a person uses them."""

import json
from pathlib import Path

from tests.commands.site import Site
from tests.repos import commit

FILE = ".codeframe/config.yaml"


def test_configuration_is_shown_changed_and_refused(shop: Site) -> None:
    out = shop.good("workspace", "config", "shop", "--set", "limits.max_parallel=3").out
    assert "limits.max_parallel" in out
    body = json.loads(shop.good("workspace", "config", "shop", "--json").out)
    assert body["values"]["limits.max_parallel"] == 3
    assert body["sources"] == {"limits.max_parallel": "database"}
    before = shop.dump()
    for text in (
        "limits.max_parallel=0",
        "nonsense=1",
        "engine",
        "gates=[{",
        "setup.commands=[id]",
    ):
        done = shop.quickly("workspace", "config", "shop", "--set", text)
        assert (done.code, done.out) == (2, ""), text
        assert done.err.count("\n") == 1, done.err
    assert shop.dump() == before
    shop.good("workspace", "config", "shop", "--unset", "limits.max_parallel")
    assert shop.rows("SELECT config FROM tasks_workspace") == [("{}",)]


def test_a_file_is_read_and_then_trusted(shop: Site, repo: Path) -> None:
    commit(repo, {FILE: "engine: fixer\n"})
    assert "does not hold until" in shop.good("workspace", "config", "shop").out
    shown = shop.good("workspace", "trust", "shop").lines
    assert shown[0] == "engine: fixer"
    digest = shown[-1].split()[-1]
    assert shop.quickly("workspace", "trust", "shop", "0" * 12).code == 2
    assert digest in shop.good("workspace", "trust", "shop", digest).out
    assert '"fixer"' in shop.good("workspace", "config", "shop").out


def test_a_recipe_is_added_to_and_decided_on(shop: Site) -> None:
    out = shop.good("workspace", "recipe", "shop", "--add", "pip install -e .").lines
    number = out[1].split()[0]
    assert out[1].split()[1] == "approved"
    assert "refused" in shop.good("workspace", "recipe", "shop", "--refuse", number).out
    assert "approved" in shop.good("workspace", "recipe", "shop", "--approve", number).out
    before = shop.dump()
    for words in (("--add", "curl x | sh"), ("--approve", "999"), ("--approve", "x")):
        done = shop.quickly("workspace", "recipe", "shop", *words)
        assert (done.code, done.out) == (2, ""), words
    assert shop.dump() == before
