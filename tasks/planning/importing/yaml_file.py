"""YAML, read as a stream of events: no aliases to expand, no tags to obey, no recursion."""

from collections.abc import Iterator
from typing import Any

import yaml

from tasks.planning.importing.problems import Problems
from tasks.planning.importing.source import Source
from tasks.planning.importing.tree import Node, TreeBuilder, plain_scalar

# PyYAML's C parser is some ten times as fast, where it was built with it.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(source: Source, problems: Problems) -> Node | None:
    """The file's one document, or None when it is empty. Raises ImportErrors."""
    builder = TreeBuilder(source, problems)
    for event in _events(source, builder):
        _take(event, builder)
    return builder.root


def _events(source: Source, builder: TreeBuilder) -> Iterator[yaml.Event]:
    reached = 0
    try:
        for event in yaml.parse(source.text, Loader=LOADER):
            reached = _offset(event.end_mark)
            yield event
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, builder, source) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # The parser in Python lets out what chr() and int() say of absurd escapes and versions.
        raise builder.refusal(reached, f"not YAML: {error}") from error


def _take(event: yaml.Event, builder: TreeBuilder) -> None:
    offset = _offset(event.start_mark)
    if isinstance(event, yaml.NodeEvent):
        _refuse_cleverness(event, builder)
    if isinstance(event, yaml.ScalarEvent):
        is_text = builder.wants_name or not event.implicit[0]
        builder.scalar(event.value if is_text else plain_scalar(event.value), offset)
    elif isinstance(event, yaml.SequenceStartEvent):
        builder.open([], offset)
    elif isinstance(event, yaml.MappingStartEvent):
        builder.open({}, offset)
    elif isinstance(event, yaml.CollectionEndEvent):
        builder.close()
    elif isinstance(event, yaml.DocumentStartEvent) and builder.root is not None:
        raise builder.refusal(offset, "a second document; put all tasks in one")


def _refuse_cleverness(event: yaml.NodeEvent, builder: TreeBuilder) -> None:
    offset = _offset(event.start_mark)
    if isinstance(event, yaml.AliasEvent):
        raise builder.refusal(offset, f"aliases (*{event.anchor}) are not allowed")
    if event.anchor is not None:
        raise builder.refusal(offset, f"anchors (&{event.anchor}) are not allowed")
    if (tag := getattr(event, "tag", None)) is not None:
        raise builder.refusal(offset, f"tags ({tag}) are not allowed")


def _syntax_error(error: yaml.MarkedYAMLError, builder: TreeBuilder, source: Source) -> Exception:
    offset = _offset(error.problem_mark or error.context_mark)
    hint = "; indent with spaces, not tabs" if source.text[offset : offset + 1] == "\t" else ""
    began = (
        ""
        if error.context_mark is None
        else f" from line {source.line(_offset(error.context_mark))}"
    )
    what = ", ".join(filter(None, (error.problem, error.context and f"{error.context}{began}")))
    return builder.refusal(offset, f"not YAML: {what}{hint}")


def _offset(mark: Any) -> int:
    return 0 if mark is None else int(mark.index)
