"""Makes a long conversation fit again, oldest first; a call and its result stay together."""

import json
from collections.abc import Sequence
from dataclasses import replace

from batches.engines.builtin.conversation import Call, Entry, Reply, Result, Results, User, size

KEPT_PAIRS = 5
"""Newest replies with their results that only the last resort touches."""
SHORT_RESULT = 200
SHORT_ARGUMENT = 200
LAST_RESORT = 2_000
DROPPED = "[Earlier steps were removed to save room. What they changed is in the files.]"


def compact(entries: Sequence[Entry], most: int) -> list[Entry]:
    """To `most` characters where that can be; what people said is never touched."""
    fitted = list(entries)
    for step in (_shorten_results, _shorten_calls, _drop_pairs, _clip_newest):
        if size(fitted) <= most:
            break
        fitted = step(fitted, most)
    return fitted


def _shorten_results(entries: list[Entry], most: int) -> list[Entry]:
    border = _border(entries)
    shortened = [_without_text(entry) for entry in entries[:border]]
    return shortened + entries[border:]


def _without_text(entry: Entry) -> Entry:
    if not isinstance(entry, Results):
        return entry
    return Results(tuple(_noted(result) for result in entry.results))


def _noted(result: Result) -> Result:
    if len(result.text) <= SHORT_RESULT:
        return result
    said = f"[{len(result.text):,} characters were removed to save room; call again if needed]"
    return replace(result, text=said)


def _shorten_calls(entries: list[Entry], most: int) -> list[Entry]:
    border = _border(entries)
    shortened = [_with_short_calls(entry) for entry in entries[:border]]
    return shortened + entries[border:]


def _with_short_calls(entry: Entry) -> Entry:
    if not isinstance(entry, Reply) or all(len(c.arguments) <= SHORT_ARGUMENT for c in entry.calls):
        return entry
    return Reply(entry.text, tuple(_short(call) for call in entry.calls))


def _short(call: Call) -> Call:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return replace(call, arguments="{}")
    kept = {name: _short_value(value) for name, value in arguments.items()}
    return replace(call, arguments=json.dumps(kept))


def _short_value(value: object) -> object:
    length = len(value) if isinstance(value, str) else len(json.dumps(value))
    return value if length <= SHORT_ARGUMENT else f"[{length:,} characters were removed]"


def _drop_pairs(entries: list[Entry], most: int) -> list[Entry]:
    """Oldest first, until it fits or only the newest are left."""
    border = _border(entries)
    excess = size(entries) + len(DROPPED) - most
    kept: list[Entry] = []
    for block in _blocks(entries[:border]):
        if excess > 0 and isinstance(block[0], Reply):
            excess -= size(block)
        else:
            kept += block
    if len(kept) < border and User(DROPPED) not in kept:
        kept.insert(1, User(DROPPED))  # behind the task
    return kept + entries[border:]


def _blocks(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Results with the reply they belong to, everything else by itself."""
    blocks: list[list[Entry]] = []
    for entry in entries:
        if isinstance(entry, Results) and blocks:
            blocks[-1].append(entry)
        else:
            blocks.append([entry])
    return blocks


def _clip_newest(entries: list[Entry], most: int) -> list[Entry]:
    """The last reply stays, so that the model knows what it has just done."""
    last = max((i for i, entry in enumerate(entries) if isinstance(entry, Reply)), default=0)
    shortened = [_with_short_calls(entry) for entry in entries[:last]]
    return [_clipped(entry) for entry in [*shortened, *entries[last:]]]


def _clipped(entry: Entry) -> Entry:
    if not isinstance(entry, Results):
        return entry
    return Results(tuple(_clip(result) for result in entry.results))


def _clip(result: Result) -> Result:
    left_out = len(result.text) - LAST_RESORT
    if left_out <= 0:
        return result
    return replace(result, text=f"{result.text[:LAST_RESORT]}\n[{left_out:,} characters more]")


def _border(entries: Sequence[Entry]) -> int:
    """The place of the reply from which on everything is kept."""
    replies = [place for place, entry in enumerate(entries) if isinstance(entry, Reply)]
    return replies[-KEPT_PAIRS] if len(replies) >= KEPT_PAIRS else (replies or [len(entries)])[0]
