import json

from tests.commands.site import Site


def test_every_engine_is_listed_with_what_is_missing(site: Site) -> None:
    told = site.good("engines").out
    for kind in ("claude", "codex", "opencode", "gemini"):
        assert kind in told
    assert "to get codex: npm install -g @openai/codex" in told


def test_as_json_a_line_each(site: Site) -> None:
    site.add_agent()
    found = {
        note["name"]: note
        for note in map(json.loads, site.good("engines", "--json").out.splitlines())
    }
    assert not found["claude"]["usable"]
    assert found["fixer"]["usable"]


def test_an_agent_without_its_program_is_refused_in_one_line(shop: Site) -> None:
    shop.good("task", "add", "-w", "shop", "Do it")
    done = shop.run("runbatch", "-w", "shop", "--all-ready", "--engine", "codex")
    assert done.code == 2
    assert "npm install -g @openai/codex" in done.err


def test_a_model_that_looks_like_an_option_is_refused(shop: Site) -> None:
    shop.good("task", "add", "-w", "shop", "Do it")
    done = shop.run("runbatch", "-w", "shop", "--all-ready", "--engine", "fixer", "--model=--x")
    assert done.code == 2
    assert "model" in done.err
