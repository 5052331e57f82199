"""The file `.codeframe/config.yaml`, from bytes to checked values; YAML's cleverness is refused."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from batches.configuration.keys import BY_NAME, SECTIONS, Invalid
from tasks.text import clip

PATH = ".codeframe/config.yaml"
MAX_BYTES = 64 * 1024
MAX_DEPTH = 6
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Problems = dict[str, list[str]]


class ConfigInvalid(ValueError):
    """`problems` has a sentence or more for each key; the message is the first of them."""

    def __init__(self, problems: Problems) -> None:
        name, sentences = next(iter(problems.items()))
        super().__init__(f"{name} {sentences[0]}")
        self.problems = problems


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_config(content: bytes) -> dict[str, Any]:
    """Values by dotted key. Raises ConfigInvalid."""
    if len(content) > MAX_BYTES:
        raise _file_problem(f"is larger than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _file_problem("is not UTF-8 text") from error
    loaded = read_value(text)
    return check_config({} if loaded is None else loaded)


def read_value(text: str) -> Any:
    """Plain data of one YAML document. Raises ConfigInvalid."""
    if len(text) > MAX_BYTES:
        raise _file_problem(f"is larger than {MAX_BYTES} bytes")
    try:
        _refuse_cleverness(text)
        return yaml.load(text, Loader=_Strict)  # noqa: S506 (a safe loader, made stricter)
    except (yaml.YAMLError, ValueError, OverflowError, TypeError) as error:
        if isinstance(error, ConfigInvalid):
            raise
        raise _file_problem(f"is not YAML: {clip(' '.join(str(error).split()), 300)}") from error


def check_config(given: Any) -> dict[str, Any]:
    """From nested sections to values by dotted key. Raises ConfigInvalid naming every bad key."""
    if not isinstance(given, dict):
        raise _file_problem("must be a mapping of keys")
    values: dict[str, Any] = {}
    problems: Problems = {}
    for name, value in _flattened(given):
        key = BY_NAME.get(name)
        try:
            if key is None:
                raise Invalid("is not a key of the configuration")
            values[name] = key.check(value)
        except Invalid as error:
            problems.setdefault(clip(name, 100), []).append(str(error))
    if problems:
        raise ConfigInvalid(problems)
    return values


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Sections again, as a person writes them."""
    sections: dict[str, Any] = {}
    for name, value in values.items():
        section, dot, key = name.partition(".")
        if dot:
            sections.setdefault(section, {})[key] = value
        else:
            sections[section] = value
    return sections


def _flattened(given: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        if name in SECTIONS and isinstance(value, dict):
            for key, inner in value.items():
                yield f"{name}.{key}", inner
        elif name in SECTIONS and value is None:
            continue
        else:
            yield str(name), value


def _file_problem(sentence: str) -> ConfigInvalid:
    return ConfigInvalid({PATH: [sentence]})


def _refuse_cleverness(text: str) -> None:
    depth = documents = 0
    for event in yaml.parse(text, Loader=_LOADER):
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _file_problem("has an anchor or an alias, which are not allowed")
        if getattr(event, "tag", None):
            raise _file_problem("has a tag, which are not allowed")
        if depth > MAX_DEPTH or documents > 1:
            raise _file_problem("is nested too deep, or has more than one document")


class _Strict(_LOADER):  # type: ignore[misc]
    """A key that is there twice is a mistake, not an override."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        if len(mapping) < len(node.value):
            raise _file_problem(f"has a key twice near line {node.start_mark.line + 1}")
        return mapping
