from typing import Any

import pytest

from batches.engines.builtin.settings import SettingsError, settings_of

PRICE = {"input": 3, "output": "15", "cache_read": 0.3, "cache_write": 3.75}


def test_the_protocol_goes_by_the_model_unless_it_is_named() -> None:
    assert settings_of({}, "claude-sonnet-4-5", {}).provider == "anthropic"
    assert settings_of({}, "qwen3-coder", {}).provider == "openai"
    assert settings_of({"provider": "openai"}, "claude-x", {}).provider == "openai"


def test_the_servers_variables_say_where_a_provider_is() -> None:
    variables = {"OPENAI_BASE_URL": "http://localhost:11434/v1"}
    found = settings_of({}, "llama", variables)
    assert (found.base_url, found.key_name) == ("http://localhost:11434/v1", "OPENAI_API_KEY")
    named = settings_of({"base_url": "https://x.example/v1", "key_name": "X"}, "llama", variables)
    assert (named.base_url, named.key_name) == ("https://x.example/v1", "X")


def test_limits_become_words_of_the_command_line() -> None:
    options = {"max_turns": 7, "max_dollars": "1.50", "price": PRICE, "silence_s": 2}
    assert settings_of(options, "m", {}).limits == {
        "max_turns": "7",
        "max_dollars": "1.50",
        "silence_s": "2",
        "price": "3,15,0.3,3.75",
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"provider": "oracle"}, "provider is one of anthropic, openai"),
        ({"colour": "red"}, "'colour' is no option"),
        ({"max_turns": 0}, "max_turns must be a whole number"),
        ({"max_turns": True}, "max_turns must be a whole number"),
        ({"max_tokens": 10**13}, "max_tokens"),
        ({"max_dollars": 1}, "max_dollars needs a price"),
        ({"max_dollars": "NaN", "price": PRICE}, "max_dollars must be from 0"),
        ({"max_dollars": -1, "price": PRICE}, "max_dollars must be from 0"),
        ({"price": {"input": 1}}, "price must hold"),
        ({"price": 3}, "price must hold"),
        ({"base_url": "file:///etc/passwd"}, "base_url must be an address"),
        ({"base_url": "http://"}, "base_url must be an address"),
        ({"base_url": "http://x:99999"}, "base_url must be an address"),
        ({"base_url": 7}, "base_url must be a text"),
        ({"key_name": "CODEFRAME_SECRET_KEY"}, "cannot be passed through"),
        ({"key_name": "A=B"}, "is not the name"),
        ({"pass_env": "X"}, "pass_env"),
        ({"test_command": "a\0b"}, "test_command must be a text"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        settings_of(options, "m", {})
