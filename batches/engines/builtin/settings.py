"""What the built-in agent is set up with: options of the engine, else the server's variables."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit

from batches.engines.builtin.tools.schemas import PERMISSIONS
from batches.engines.environment import pass_env_problem

ANTHROPIC, OPENAI = "anthropic", "openai"
KEYS = {ANTHROPIC: "ANTHROPIC_API_KEY", OPENAI: "OPENAI_API_KEY"}
ADDRESSES = {ANTHROPIC: "ANTHROPIC_BASE_URL", OPENAI: "OPENAI_BASE_URL"}
USUAL = {ANTHROPIC: "https://api.anthropic.com", OPENAI: "https://api.openai.com/v1"}
MOST = 10**12
WHOLE = {
    "max_turns": (1, 10_000),
    "max_tokens": (1, MOST),
    "context_tokens": (2_000, MOST),
    "output_tokens": (1, 10**6),
    "retries": (0, 20),
}
AMOUNTS = {"max_dollars": MOST, "silence_s": 3600, "longest_wait_s": 3600}
PRICES = ("input", "output", "cache_read", "cache_write")
TEXTS = (
    "kind",
    "permission",
    "program",
    "provider",
    "model",
    "base_url",
    "key_name",
    "test_command",
)
KNOWN = {*TEXTS, *WHOLE, *AMOUNTS, "price", "pass_env"}


class SettingsError(ValueError):
    """The message names the option."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """`limits` are words of the agent's command line."""

    provider: str
    model: str
    base_url: str
    key_name: str
    permission: str
    pass_env: tuple[str, ...]
    limits: Mapping[str, str]


def settings_of(options: Mapping[str, Any], model: str, environment: Mapping[str, str]) -> Settings:
    """Raises SettingsError."""
    _check_names(options)
    provider = _one_of("provider", options.get("provider") or provider_of(model), KEYS)
    permission = options.get("permission") or PERMISSIONS[0]
    base_url = options.get("base_url") or environment.get(ADDRESSES[provider]) or USUAL[provider]
    key_name = options["key_name"] if "key_name" in options else KEYS[provider]
    names = [*options.get("pass_env", []), *filter(None, [key_name])]
    if problem := pass_env_problem(names):
        raise SettingsError(problem)
    return Settings(
        provider=provider,
        model=model,
        base_url=_address(base_url),
        key_name=key_name,
        permission=_one_of("permission", permission, PERMISSIONS),
        pass_env=tuple(options.get("pass_env", [])),
        limits=_limits(options),
    )


def provider_of(model: str) -> str:
    """All but Anthropic's models are spoken to by OpenAI's protocol."""
    return ANTHROPIC if model.lower().startswith("claude") else OPENAI


def _one_of(name: str, value: str, known: Collection[str]) -> str:
    if value not in known:
        raise SettingsError(f"{name} is one of {', '.join(known)}; not {value!r}.")
    return value


def _check_names(options: Mapping[str, Any]) -> None:
    unknown = sorted(set(options) - KNOWN)
    if unknown:
        raise SettingsError(f"{unknown[0]!r} is no option of the built-in agent.")
    for name in TEXTS:
        value = options.get(name, "")
        if not isinstance(value, str) or "\0" in value:
            raise SettingsError(f"{name} must be a text.")
    if pass_env_problem(options.get("pass_env", [])):
        raise SettingsError("pass_env must be a list of names of variables.")


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise SettingsError(f"base_url must be an address with http or https; not {text!r}.")
    return text


def _limits(options: Mapping[str, Any]) -> dict[str, str]:
    limits: dict[str, str] = {}
    for name, (low, high) in WHOLE.items():
        value = options.get(name)
        if value is not None:
            if type(value) is not int or not low <= value <= high:
                raise SettingsError(f"{name} must be a whole number from {low} to {high}.")
            limits[name] = str(value)
    for name, most in AMOUNTS.items():
        if options.get(name) is not None:
            limits[name] = _amount(name, options[name], most)
    if options.get("price") is not None:
        limits["price"] = _price(options["price"])
    if "max_dollars" in limits and "price" not in limits:
        raise SettingsError("max_dollars needs a price: what has no price cannot be capped.")
    if options.get("test_command"):
        limits["test_command"] = options["test_command"]
    return limits


def _price(given: object) -> str:
    if not isinstance(given, Mapping) or set(given) != set(PRICES):
        raise SettingsError(f"price must hold {', '.join(PRICES)}: dollars per million tokens.")
    return ",".join(_amount(f"price of {name}", given[name], MOST) for name in PRICES)


def _amount(name: str, value: object, most: int) -> str:
    """Of a number, or of digits in a text, as decimals travel in JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise SettingsError(f"{name} must be a number.")
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise SettingsError(f"{name} must be a number.") from None
    if not amount.is_finite() or not 0 <= amount <= most:
        raise SettingsError(f"{name} must be from 0 to {most}.")
    return f"{amount:f}"
