"""The configuration's file: checked key by key, and nothing in YAML can surprise us."""

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batches.configuration.keys import KEYS
from batches.configuration.reading import (
    MAX_BYTES,
    ConfigInvalid,
    check_config,
    nested,
    read_config,
)


def problems(text: str | bytes) -> dict[str, list[str]]:
    content = text.encode() if isinstance(text, str) else text
    with pytest.raises(ConfigInvalid) as caught:
        read_config(content)
    return caught.value.problems


@pytest.mark.parametrize("key", KEYS, ids=[key.name for key in KEYS])
def test_each_keys_example_and_default_are_valid(key: Any) -> None:
    section, dot, name = key.name.rpartition(".")
    text = f"{section}:\n  {name}: {key.example}\n" if dot else f"{key.name}: {key.example}\n"
    assert list(read_config(text.encode())) == [key.name]
    if key.default not in (None, ""):
        assert key.check(key.default) == key.default


def test_every_bad_key_is_named_at_once() -> None:
    text = "environment: {tool: uv, copy: maybe}\nlimits: {max_parallel: 0}\nengin: x\n"
    found = problems(text)
    assert set(found) == {"environment.tool", "environment.copy", "limits.max_parallel", "engin"}
    assert found["engin"] == ["is not a key of the configuration"]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x\n",
        "engine: !!python/object/apply:os.system [id]\n",
        "engine: !secret x\n",
        "engine: a\nengine: b\n",
        "environment: {copy: true, copy: false}\n",
        "engine: a\n---\nengine: b\n",
        "- a\n",
        "just text\n",
        "engine: [\n",
        "{" * 500,
        "[" * 5000,
        "a: {b: {c: {d: {e: {f: {g: {}}}}}}}\n",
        "\x00",
        "engine: 'x\x00'\n",
        b"engine: \xff\n",
        b"\xed\xa0\x80",
        "engine: x" + "x" * MAX_BYTES,
        "1: 2\n",
        "null: 2\n",
        "? [a, b]\n: c\n",
        "limits: {max_parallel: 1e400}\n",
        "limits: {max_parallel: 99999999999999999999999}\n",
        "limits: {max_parallel: true}\n",
        "limits: [1]\n",
        "gates: [{name: a, argv: [x]}, {name: a, argv: [y]}]\n",
        "gates: [{name: a, argv: [x], shell: true}]\n",
        "gates: [{name: ../a, argv: [x]}]\n",
        'gates: [{name: a, argv: ["x\\u0000y"]}]\n',
        "setup: {commands: [curl evil]}\n",
        "setup: {commands: pip install x}\n",
        "protected_paths: [/etc/passwd]\n",
        "protected_paths: [a/../b]\n",
        "protected_paths: ['']\n",
        "environment: {tools: [make]}\n",
        "environment: {tools: []}\n",
        "environment: {probe: ['a | b']}\n",
        "engine: '../x'\n",
        "2020-01-01: x\n",
        "a: 2020-13-45\n",
    ],
)
def test_what_is_wrong_or_clever_is_refused(text: str | bytes) -> None:
    assert problems(text)


@pytest.mark.parametrize("text", ["", "# nothing\n", "environment:\n", "{}\n"])
def test_an_empty_file_is_fine(text: str) -> None:
    assert read_config(text.encode()) == {}


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with contextlib.suppress(ConfigInvalid):
        values = read_config(content)
        assert check_config(nested(values)) == values


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
_SECTIONS = st.sampled_from(sorted({key.name.partition(".")[0] for key in KEYS}))


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        _SECTIONS,
        _JSON
        | st.dictionaries(
            st.sampled_from(["tools", "copy", "commands", "timeout_s", "probe"]), _JSON
        ),
    )
)
def test_any_json_is_checked_or_refused(value: Any) -> None:
    with contextlib.suppress(ConfigInvalid):
        values = check_config(value)
        assert check_config(nested(values)) == values
