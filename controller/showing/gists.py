"""What a call was given and what came back, each in a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.showing.lines import cut, one_line, span_text, value_text
from world_api.core.cost import Spent

#: Book-keeping of results, and times that a span says already.
_ASIDE = frozenset(
    "evidence cost calls warnings truncated hint center_time segment_id scene_id video_id matching_lines summary "
    "unused_words matched unmatched not_found not_judged not_examined lacks judged vocabulary".split()
)
#: Under these names stands what a person would read.
_WORDS = (
    "snippet", "caption", "brief_caption", "content", "answer", "entity_hint", "hint", "label", "text", "path_repr", "item",
)  # fmt: skip
_FIRST = 3


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """The arguments, without the video, which is the same in all; those that tell calls apart first, long texts last."""
    given = {key: value for key, value in arguments.items() if key != "video_id"}
    span = ""
    if {"start_time", "end_time"} <= given.keys():
        span = span_text({key: given.pop(key) for key in ("start_time", "end_time")})
    told = [f"{one_line(key)}={value_text(value)}" for key, value in given.items()]
    return ", ".join([*([span] if span else []), *sorted(told, key=len)])


def result_text(result: Mapping[str, Any]) -> str:
    """What a result says."""
    error = result.get("error")
    if isinstance(error, Mapping):
        return one_line(f"fault {error.get('code')}: {error.get('message')}")
    found = result.get("outputs")
    status = result.get("status")
    parts = [one_line(str(status))] if isinstance(status, str) and status != "ok" else []
    shown = found if isinstance(found, Mapping) else result
    parts += [_part(key, value) for key, value in _telling(shown)]
    return "; ".join(parts) or one_line(str(result.get("hint") or "nothing"))


def outputs_text(origins: Mapping[str, Any]) -> str:
    """Which of a tool's calls each of its outputs came from."""
    outputs = origins.get("outputs")
    if not isinstance(outputs, Mapping):
        return ""
    told = []
    for name, source in outputs.items():
        calls = source.get("calls") if isinstance(source, Mapping) else None
        if isinstance(calls, list) and calls:
            told.append(f"{one_line(str(name))} from {_numbers(calls)}")
    return ", ".join(told)


def spent_text(spent: Sequence[Spent]) -> str:
    """What other models were asked during a call."""
    told = []
    for purpose, model in dict.fromkeys((item.purpose, item.model) for item in spent):
        items = [item for item in spent if (item.purpose, item.model) == (purpose, model)]
        tokens = sum(item.prompt + item.completion for item in items)
        kept = sum(not item.physical for item in items)
        images = sum(item.images for item in items)
        about = "~" if any(item.estimated for item in items) else ""
        more = [f"{images} images"] if images else []
        more += [f"{kept} kept from before"] if kept else []
        aside = f" ({', '.join(more)})" if more else ""
        told.append(f"{purpose} by {one_line(model)}: {len(items)} asked, {about}{tokens:,} tokens{aside}")
    return "; ".join(told)


def _numbers(calls: Sequence[Any]) -> str:
    shown = [str(number) for number in calls[:6] if isinstance(number, int)]
    return ("call " if len(calls) == 1 else "calls ") + " ".join(shown) + (" ..." if len(calls) > len(shown) else "")


def _telling(found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if {"start_time", "end_time"} <= found.keys():
        yield "", span_text(found)
    for key, value in found.items():
        if key not in _ASIDE and key not in ("start_time", "end_time", "status"):
            yield key, value


def _part(key: str, value: Any) -> str:
    name = one_line(str(key))
    if isinstance(value, list):
        first = "; ".join(_item(item) for item in value[:_FIRST]) + (" ..." if len(value) > _FIRST else "")
        return (
            f"{len(value)} {_one(name) if len(value) == 1 else name}"
            + (f": {first}" if first else "")
            + (" ..." if len(value) > _FIRST else "")
        )
    if not key:
        return str(value)
    return f"{name} {value_text(value, 160)}"


def _one(name: str) -> str:
    """The name of a list as the name of one thing in it."""
    return name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")


def _item(item: Any) -> str:
    if not isinstance(item, Mapping):
        return value_text(item)
    words = next((item[key] for key in _WORDS if isinstance(item.get(key), str) and item[key]), "")
    parts = [span_text(item)] if "start_time" in item else []
    parts += [value_text(words)] if words else []
    return " ".join(parts) or cut(value_text(item), 40)
