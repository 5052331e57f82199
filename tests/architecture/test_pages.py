"""The pages' tables are the code's; `python -m tests.architecture` prints what to paste."""

import re
from pathlib import Path

import pytest

from batches.configuration.keys import KEYS
from batches.options import BOUNDS
from tests.architecture.pages import (
    TABLES,
    configuration_table,
    documented_events,
    event_names,
    page,
    settings_table,
    state_table,
)
from tests.architecture.source import ROOT, product


@pytest.mark.parametrize("name", TABLES)
def test_the_page_of_states_holds_the_table(name: str) -> None:
    _, _, section = page("states.md").partition(f"\n## {name}\n")
    section = section.partition("\n## ")[0]
    assert _tables(section) == [state_table(name)]


def test_the_page_of_settings_lists_exactly_what_is_read(tmp_path: Path) -> None:
    assert _tables(page("settings.md")) == [settings_table(str(tmp_path))]


def test_the_page_of_configuration_lists_exactly_the_keys_there_are() -> None:
    assert _tables(page("configuration.md")) == [configuration_table()]


def test_every_key_of_the_configuration_is_read_somewhere() -> None:
    sources = [
        s.path.read_text(encoding="utf-8") for s in product() if "configuration/keys" not in s.name
    ]
    limits = {key.name for key in KEYS if key.name.startswith("limits.")}
    unread = [
        key.name
        for key in KEYS
        if key.name not in limits and not any(f'"{key.name}"' in text for text in sources)
    ]
    assert unread == []
    assert {name.removeprefix("limits.") for name in limits} == set(BOUNDS)


def test_the_page_of_events_lists_exactly_the_names_there_are() -> None:
    assert list(documented_events()) == event_names()


def test_links_between_the_pages_lead_somewhere() -> None:
    broken = [
        f"{source.name}: {target}"
        for source in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", source.read_text(encoding="utf-8"))
        if not (source.parent / target).exists()
    ]
    assert broken == []


def _tables(text: str) -> list[str]:
    return re.findall(r"^\|.*(?:\n\|.*)*", text, flags=re.MULTILINE)
