"""The command line of the built-in agent."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from batches.engines.builtin.budget import Price
from batches.engines.builtin.providers import PROVIDERS
from batches.engines.builtin.tools.schemas import PERMISSIONS

DEFAULT_TURNS = 45
DEFAULT_CONTEXT = 200_000
DEFAULT_OUTPUT = 16_000
MOST = 10**12


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Times in seconds; `price` is needed for a limit in dollars."""

    provider: str
    model: str
    prompt_file: Path
    session_folder: Path
    resume: str
    base_url: str
    key_name: str
    max_turns: int
    max_tokens: int | None
    max_dollars: Decimal | None
    price: Price | None
    context_tokens: int
    output_tokens: int
    silence_s: float
    retries: int
    longest_wait_s: float
    test_command: str | None
    permission: str


def parse(words: Sequence[str]) -> Arguments:
    """Exits with 2 and a sentence on standard error when they are wrong."""
    parser = _parser()
    given = vars(parser.parse_args(words))
    if given["max_dollars"] is not None and given["price"] is None:
        parser.error("--max-dollars needs --price: what has no price cannot be capped.")
    return Arguments(**given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="builtin agent", allow_abbrev=False)
    add = parser.add_argument
    add("--provider", choices=sorted(PROVIDERS), required=True)
    add("--model", required=True)
    add("--prompt-file", type=Path, required=True)
    add("--session-folder", type=Path, required=True)
    add("--resume", default="", metavar="SESSION", help="go on with that one, where it is there")
    add("--base-url", required=True, help="OpenAI's protocol: with /v1; Anthropic's: without")
    add("--key-name", default="", help="the environment variable with the key")
    add("--max-turns", type=_count, default=DEFAULT_TURNS)
    add("--max-tokens", type=_count, help="all tokens, cached ones too")
    add("--max-dollars", type=_dollars)
    add("--price", type=_price, help="INPUT,OUTPUT,CACHE_READ,CACHE_WRITE in $ per million tokens")
    add("--context-tokens", type=_count, default=DEFAULT_CONTEXT)
    add("--output-tokens", type=_count, default=DEFAULT_OUTPUT)
    add("--silence-s", type=float, default=120.0, help="longest silence of the provider")
    add("--retries", type=int, default=4)
    add("--longest-wait-s", type=float, default=60.0, help="for a provider that says when")
    add("--test-command", help="what run_tests runs")
    add("--permission", choices=PERMISSIONS, default=PERMISSIONS[0], help="which tools there are")
    return parser


def _count(word: str) -> int:
    value = int(word)
    if not 1 <= value <= MOST:
        raise argparse.ArgumentTypeError(f"must be from 1 to {MOST}")
    return value


def _dollars(word: str) -> Decimal:
    try:
        value = Decimal(word)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{word!r} is no number") from None
    if not value.is_finite() or not 0 <= value <= MOST:
        raise argparse.ArgumentTypeError(f"{word!r} is no amount")
    return value


def _price(word: str) -> Price:
    amounts = [_dollars(part) for part in word.split(",")]
    if len(amounts) != 4:
        raise argparse.ArgumentTypeError(
            "must be four amounts: input,output,cache read,cache write"
        )
    return Price(input=amounts[0], output=amounts[1], cache_read=amounts[2], cache_write=amounts[3])
