"""Messages in Chat Completions form: prompts from files, data from videos, replies of any content, and token usage.

Prompts are Jinja files of a package, rendered in a sandbox and identified by their hash. Templates are fixed files that
get plain values; text from the video is never rendered by a template.

JSON keeps the text of a video inside its field. Servers of open models, however, put messages into chat templates whose
control tokens (``<|im_end|>``, ``[/INST]``, ``</s>``, ``[|user|]``, ``]~b]``) are text too, and some servers parse them
anywhere in a message. Each known one contains ``<`` or a square bracket. In strings these characters are written as
JSON escapes: a model can still read them, and no server finds a control token. The brackets of the JSON itself remain.

A long result is divided into pages of its shape. Lists are continued entry by entry and texts character by character, so that
all pages together hold everything. Sizes are characters of ``data_line``.

The text of a reply may also contain a tool call: servers leave it there if their parser for calls is off. Tokens of
requests are counted or estimated. No prices ship with the project: they would be wrong within weeks. Money is reported
only if the user states prices in a file.
"""

from __future__ import annotations

import codecs
import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeGuard

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from world_api.core.canonical import Record, canonical_json, is_deep, json_line, json_object, parse_json
from world_api.core.cost import Spent
from world_api.core.faults import BackendFault, ToolFault
from world_api.core.files import open_regular
from world_api.core.ports import ChatModel
from world_api.core.yaml_text import MAX_BYTES, read_yaml

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

# --- prompts --------------------------------------------------------------------------------------------------------

DATA = "data_from_video"  #: the field for everything from a video that a model is shown

#: Signs of control tokens of chat templates (``<``, ``[INST]``, ``[|user|]``, ``]~b]``), and, as a group, brackets that are
#: part of none: around numbers, one word in lower case or several words, apart from other signs.
_SIGN = re.compile(r"((?<![^\s\"])\[(?:[\d., -]+|[A-Z]?[a-z]+|[\w',.-]+(?: [\w',.-]+)+)\](?![^\s\".,;:!?]))|[<\[\]]")
_BACKSLASH, _QUOTE = "\0", "\1"  #: temporary replacements of escaped characters; JSON holds no control characters
_SUFFIX = ".jinja"
#: Folders of prompts, ``package/folder``, with the SHA-256 of each of their files.
PromptHashes = dict[str, dict[str, str]]
_noted: ContextVar[PromptHashes | None] = ContextVar("noted_prompts", default=None)


@contextmanager
def noting_prompts() -> Iterator[PromptHashes]:
    """Yield a dict that collects, by folder, the file hashes of each folder whose prompts are rendered inside the block.

    Prompts that other threads render are included only if these run in a copy of this context.
    """
    noted: PromptHashes = {}
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


class PromptFiles:
    """The prompt files of one folder of a package."""

    def __init__(self, package: str, folder: str = "prompts") -> None:
        self.place = f"{package}/{folder}"
        files = resources.files(package).joinpath(folder)
        self._sources = {
            file.name.removesuffix(_SUFFIX): file.read_text(encoding="utf-8")
            for file in files.iterdir()
            if file.name.endswith(_SUFFIX)
        }
        self._environment = _environment(tuple(sorted(self._sources.items())))

    @property
    def hash(self) -> str:
        """SHA-256 over the names and texts of all files."""
        digest = hashlib.sha256()
        for name, text in sorted(self._sources.items()):
            digest.update(f"{name}\0{text}\0".encode())
        return digest.hexdigest()

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file's text, by its name without the suffix."""
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(self._sources.items())}

    def render(self, name: str, **values: Any) -> str:
        """Return a prompt with the values filled in. Raises jinja2.UndefinedError if a value is missing."""
        noted = _noted.get()
        if noted is not None and self.place not in noted:
            noted[self.place] = dict(self.hashes)
        return self._environment.get_template(name).render(**values).strip()


@functools.lru_cache(maxsize=8)
def _environment(sources: tuple[tuple[str, str], ...]) -> SandboxedEnvironment:
    from jinja2 import DictLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    # Nothing is escaped: these are prompts, not web pages.
    return SandboxedEnvironment(
        loader=DictLoader(dict(sources)), undefined=StrictUndefined, autoescape=False, trim_blocks=True
    )


def data_line(value: Any) -> str:
    """Return a value as one line of JSON, keys in their order, signs of a chat template's control tokens escaped.

    Raises ValueError: as ``json_line``.
    """
    line = json_line(value)
    parts = line.replace("\\\\", _BACKSLASH).replace('\\"', _QUOTE).split('"')  # each second one is a string
    if len(parts) == 1:
        return line
    texts = '"'.join(parts[1::2])
    parts[1::2] = _SIGN.sub(lambda sign: sign[1] or f"\\u{ord(sign[0]):04x}", texts).split('"')
    return '"'.join(parts).replace(_QUOTE, '\\"').replace(_BACKSLASH, "\\\\")


# --- pages of long results ------------------------------------------------------------------------------------------

#: The function that returns the next page, offered beside the tools; and the field of a message that announces more.
READ_MORE, TRUNCATED, CURSOR = "read_more", "truncated", "cursor"
MAX_RESULT_CHARACTERS = 16_000

_WIDE = 16  #: fields; those of a wider object are shown in order, like the entries of a list
_LEAST_SHARE = 120  #: characters; a field that would get fewer waits for a later page
_NAME_CHARACTERS = 80  #: longest field of an entry that is repeated with each part of it
_BREAK = 60  #: characters before the end of a part in which a text is cut at a space, if there is one


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page. ``rest``: what no page has shown so far; None if nothing is left.

    ``totals``: the lengths of the lists and texts of the whole result, by path, such as ``outputs.lines``.
    """

    shown: dict[str, Any]
    rest: dict[str, Any] | None
    totals: Mapping[str, int]
    #: which entries (of texts: characters) this page has, such as ``{"actions": "41-80 of 388"}``; empty if it has all
    parts: Mapping[str, str] = field(default_factory=dict)

    def following(self, limit: int) -> Page:
        """Return the next page of at most ``limit`` characters; an empty one after the last."""
        return _page(self.rest or {}, limit, self.totals)


def first_page(result: Mapping[str, Any], limit: int) -> Page:
    """Return the first page of a result, of at most ``limit`` characters; a result that fits is shown unchanged."""
    if len(data_line(result)) <= limit:
        return Page(shown=dict(result), rest=None, totals={})
    return _page(result, limit, dict(_lengths(result)))


@dataclass
class ResultPages:
    """The pages of the long results of one episode or server. Cursors are numbers, given out in the order of the pages."""

    _pages: dict[str, Page] = field(default_factory=dict)

    def announced(self, page: Page) -> dict[str, Any]:
        """Return what a message says beside a page: under ``truncated`` what it shows of how much, and the next cursor.

        Empty if the page leaves nothing out.
        """
        if page.rest is None:
            return {TRUNCATED: {"shown": dict(page.parts)}} if page.parts else {}
        cursor = str(len(self._pages) + 1)
        self._pages[cursor] = page
        return {TRUNCATED: {"shown": dict(page.parts), CURSOR: cursor}}

    def before(self, cursor: object) -> Page | None:
        """Return the page that a cursor continues; None if no page has it."""
        return self._pages.get(cursor) if isinstance(cursor, str) else None


def _page(value: Mapping[str, Any], limit: int, totals: Mapping[str, int]) -> Page:
    shown, rest = _split(dict(value), limit, is_entry=False)
    if len(data_line(shown)) > limit:
        # Names that are too long, or nested too deep, leave nothing to cut: the JSON itself is paged as a text.
        value = {"json": data_line(value)}
        shown, rest = _split(value, limit, is_entry=False)
        totals = dict(_lengths(value))
    left, here = dict(_lengths(rest or {})), dict(_lengths(shown))
    before = dict(_lengths(value))
    parts = {}
    for path, total in totals.items():
        if left.get(path) or (path in here and before[path] < total):
            first = total - before[path] + 1
            last = first + here.get(path, 0) - 1
            parts[path] = f"{first}-{last} of {total}" if first <= last else f"0 of {total}"
    return Page(shown=shown, rest=rest, totals=totals, parts=parts)


def _lengths(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, int]]:
    """Yield the path and the length of each list and text that is inside no list."""
    for key, item in value.items():
        path = f"{before}{key}"
        if isinstance(item, Mapping):
            yield from _lengths(item, f"{path}.")
        elif isinstance(item, list | str):
            yield path, len(item)


def _split(value: Any, limit: int, *, is_entry: bool) -> tuple[Any, Any]:
    """Return the first part of a value, in about ``limit`` characters, and the rest; None if all of it fits.

    Each part has something of the value, however small the limit. ``is_entry``: it is an entry of a list.
    """
    if not value or len(data_line(value)) <= limit:
        return value, None
    match value:
        case str():
            return _split_text(value, limit)
        case list():
            return _split_list(value, limit)
        case dict() if len(value) > _WIDE:
            return _split_wide(value, limit)
        case dict():
            return _split_fields(value, limit, is_entry=is_entry)
    return value, None


def _split_text(text: str, limit: int) -> tuple[str, str | None]:
    least, most = 1, min(len(text), max(1, limit - 2))
    while least < most:  # escapes make a text longer than its characters
        middle = (least + most + 1) // 2
        least, most = (middle, most) if len(data_line(text[:middle])) <= limit else (least, middle - 1)
    at_space = text.rfind(" ", max(1, least - _BREAK), least)
    end = at_space + 1 if at_space > 0 else least
    return text[:end], text[end:] or None


def _split_list(entries: list[Any], limit: int) -> tuple[list[Any], list[Any] | None]:
    count = _number_that_fit(entries, limit)
    if count:
        return entries[:count], entries[count:] or None
    shown, rest = _split(entries[0], limit - 2, is_entry=True)
    return [shown], [*([] if rest is None else [rest]), *entries[1:]] or None


def _split_wide(value: dict[str, Any], limit: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    pairs = list(value.items())
    count = _number_that_fit([{key: item} for key, item in pairs], limit)
    if count:
        return dict(pairs[:count]), dict(pairs[count:]) or None
    key, item = pairs[0]
    shown, rest = _split(item, limit - len(data_line({key: 0})), is_entry=False)
    return {key: shown}, dict([*([] if rest is None else [(key, rest)]), *pairs[1:]]) or None


def _number_that_fit(entries: Sequence[Any], limit: int) -> int:
    used = len("[]")
    for count, entry in enumerate(entries):
        used += len(data_line(entry)) + len(",")
        if used > limit + len(","):
            return count
    return len(entries)


def _split_fields(value: dict[str, Any], limit: int, *, is_entry: bool) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Split a record: small fields are shown whole, larger ones share what is left."""
    sizes = {key: len(data_line({key: item})) - len("{}") + len(",") for key, item in value.items()}
    places = {key: place for place, key in enumerate(value)}
    left = limit - len("{}") + len(",")
    shown: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    ascending = sorted(sizes, key=lambda key: (sizes[key], places[key]))
    for done, key in enumerate(ascending):
        share = left // (len(sizes) - done)
        if sizes[key] > share < _LEAST_SHARE and isinstance(value[key], dict | list | str):
            if rest:
                shown[key], rest[key] = type(value[key])(), value[key]
                left -= len(data_line({key: []}))
                continue
            # The first that does not fit gets all there is but the names of the others, so that each page has a part of it.
            share = left - sum(len(data_line({other: []})) for other in ascending[done + 1 :])
        name = sizes[key] - len(data_line(value[key]))
        shown[key], more = _split(value[key], max(1, share - name), is_entry=False)
        left -= len(data_line(shown[key])) + name
        if more is not None:
            rest[key] = more
    if rest and is_entry:
        names = (key for key in shown if key not in rest and not isinstance(value[key], dict | list))
        repeated, free = [], limit // 4
        for key in names:
            if sizes[key] <= min(free, _NAME_CHARACTERS):
                repeated.append(key)
                free -= sizes[key]
        rest |= {key: value[key] for key in repeated}
    ordered = {key: shown[key] for key in value if key in shown}
    return ordered, {key: rest[key] for key in value if key in rest} or None


# --- messages and replies -------------------------------------------------------------------------------------------

#: Field of an assistant's message for data that its wire sends back unchanged when later requests repeat the message.
CARRIED = "carried"
PROJECT_FIELD = "videoworld"  #: field of a reply that this project adds; no server may set it
#: The markers of a call in families of open models. Inside a line a marker counts only before the name of a tool.
_MARK = re.compile(
    r"^[^\S\n]*(?:<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?_begin\|>)"
    r"|(?:<tool_call>|<function=|\[TOOL_CALLS\])\s*(?P<tool>[\w-]+)",
    re.MULTILINE,
)
_FENCE = re.compile(r"```\w*\s*\Z")
_OBJECT = re.compile(r"\{\s*\"")
_DECODER = json.JSONDecoder()
MAX_CALLS_IN_A_REPLY = 64
MOST_FAILURES = 200  #: failed attempts to read an object in a text; each may take time in proportion to its length


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call in a reply. ``arguments`` is a JSON object, or raw text to imitate a faulty server."""

    tool: str
    arguments: dict[str, Any] | str
    id: str | None = None

    def record(self, position: int) -> dict[str, Any]:
        """Return the call as an entry of ``tool_calls``; without an id, ``position`` gives one."""
        arguments = self.arguments if isinstance(self.arguments, str) else canonical_json(self.arguments)
        return {
            "id": self.id if self.id is not None else f"call_{position}",
            "type": "function",
            "function": {"name": self.tool, "arguments": arguments},
        }


def completion(
    *,
    model: str,
    content: str | None = None,
    calls: Sequence[Call] = (),
    usage: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """Build a Chat Completions response with one choice.

    ``usage`` is (prompt tokens, completion tokens); without it the response has no ``usage``, as from some servers.
    """
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [call.record(position) for position, call in enumerate(calls)]
    reply: dict[str, Any] = {
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
    }
    if usage is not None:
        prompt, written = usage
        reply["usage"] = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    return reply


def first_choice(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first of a reply's ``choices``; an empty dict if there is none."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def first_message(reply: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the message of a reply's first choice; None if there is none."""
    message = first_choice(reply).get("message")
    return message if isinstance(message, dict) else None


def from_cache(reply: Mapping[str, Any]) -> bool:
    """Whether a reply was read from the request cache, so that nothing was sent and nothing was paid."""
    ours = reply.get(PROJECT_FIELD)
    return isinstance(ours, dict) and ours.get("from_cache") is True


def checked_reply(reply: Any) -> dict[str, Any]:
    """Return the reply unchanged.

    Raises BackendFault: ``bad_model_reply`` if it is not a JSON object, or nested too deeply to be stored.
    """
    try:
        canonical_json(reply)
        reason = "" if isinstance(reply, dict) else "it is not a JSON object"
        if is_deep(reply):
            reason = "it is nested too deeply"
    except RecursionError:
        reason = "it is nested too deeply"
    except (ValueError, TypeError) as error:
        reason = str(error)
    if reason:
        raise BackendFault("bad_model_reply", f"the model's reply is not JSON: {reason}", hint="use another model")
    checked: dict[str, Any] = reply
    return checked


def text_of(message: Mapping[str, Any], separator: str = "\n") -> str:
    """Return the text of a message; if the content is a list, the texts of its parts, joined by ``separator``."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return separator.join(text for text in texts if isinstance(text, str))


def call_position(text: str, tools: Set[str]) -> int | None:
    """Return the index of the character at which the first tool call, or the code fence around it, begins; else None.

    A call is a marker such as ``<tool_call>``, a JSON object with the name of one of ``tools`` and arguments, or a text
    that consists of an object with such a name.
    """
    marks = (mark.start() for mark in _MARK.finditer(text) if mark["tool"] is None or mark["tool"] in tools)
    written = (start for start, _, value in json_objects(text) if _is_call(value, tools))
    found = [start for start in (next(marks, None), next(written, None)) if start is not None]
    if found:
        before = text[: min(found)]
        fence = _FENCE.search(before)
        return fence.start() if fence else len(before)
    whole = json_object(re.sub(r"^```(?:json)?|```$", "", text.strip()).strip())
    return 0 if whole is not None and _names_tool(whole, tools) else None


def json_objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end (character indexes) and value of each outermost JSON object in a text.

    Reading ends when ``MOST_FAILURES`` objects could not be parsed, so that a hostile text does not take quadratic time.
    """
    match, failures = _OBJECT.search(text), 0
    while match is not None and failures < MOST_FAILURES:
        start = match.start()
        end = start + 1
        try:
            _, end = _DECODER.raw_decode(text, start)
            yield start, end, parse_json(text[start:end])
        except json.JSONDecodeError as error:
            end, failures = max(start + 1, error.pos), failures + 1
        except (ValueError, RecursionError):  # not strict JSON: NaN, a number beyond a float, runaway nesting
            failures += 1
        match = _OBJECT.search(text, end)


def _is_call(value: Mapping[str, Any], tools: Set[str]) -> bool:
    inner = value.get("function")
    call = inner if isinstance(inner, Mapping) else value
    return _names_tool(call, tools) and ("arguments" in call or "parameters" in call)


def _names_tool(call: Mapping[str, Any], tools: Set[str]) -> bool:
    return isinstance(call.get("name"), str) and call["name"] in tools


#: The replacement of a setting that a server refuses: another name for the same setting, or None.
_REPLACEMENT = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": None,
    "temperature": None,
    "response_format": None,
}


class OptionalSettings:
    """Optional fields of requests, such as ``temperature``. One that a server refuses by name is dropped or renamed.

    Threads may share an instance.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings: dict[str, Any] = settings

    def complete(self, model: ChatModel, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Send the request with the optional fields, again without those that are refused; return it as accepted, and the reply.

        Raises BackendFault: the model's, if it refuses none of the fields.
        """
        while True:
            settings = self.settings
            whole = {**request, **settings}
            try:
                return whole, model.complete(whole)
            except BackendFault as fault:
                remaining = without_refused(settings, fault)
                if remaining is None:
                    raise
                if self.settings is settings:  # no other thread was faster
                    self.settings = remaining


def without_refused(settings: dict[str, Any], fault: BackendFault) -> dict[str, Any] | None:
    """Return the request fields ``settings``, the one that a fault refuses renamed or removed; None if it refuses none."""
    named = next((name for name in _REPLACEMENT if name in fault.message and name in settings), None)
    if named is None or fault.code not in ("endpoint_refused_request", "endpoint_error"):
        return None
    remaining = {name: value for name, value in settings.items() if name != named}
    replacement = _REPLACEMENT[named]
    return remaining if replacement is None else {**remaining, replacement: settings[named]}


# --- tokens and prices ----------------------------------------------------------------------------------------------

CURRENCY: Literal["USD"] = "USD"
_MOST_USD = 1_000_000  #: per million tokens; a larger price is a mistake, and sums of it need not be finite
_MILLION = 1_000_000
#: Assumed tokens of an image if the server does not count: what 1024 x 1024 pixels cost at high and at low detail on the first
#: OpenAI models that took images. Others count differently.
IMAGE_TOKENS = 765
LOW_DETAIL_IMAGE_TOKENS = 85
_IMAGES = frozenset({"image_url", "input_image"})
_IMAGE_DEPTH = 6  #: images are parts of the content of messages, so deeper levels are not searched


@dataclass(frozen=True, kw_only=True)
class Usage(Record):
    """Tokens of one request. ``estimated`` is True if the server did not count them.

    ``cached`` are the tokens of the prompt that the server had cached, ``reasoning`` the hidden tokens of the
    completion; ``prompt`` and ``completion`` include them.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        counts = {name: value + getattr(other, name) for name, value in vars(self).items() if name != "estimated"}
        return Usage(**counts, estimated=self.estimated or other.estimated)


def usage_of(request: dict[str, Any], reply: dict[str, Any]) -> Usage:
    """Return the tokens of a request and its reply: the server's count, else an estimate."""
    counted = reply.get("usage")
    if isinstance(counted, dict):
        prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
        if is_count(prompt) and is_count(completion):
            names = ((counted.get("prompt_tokens_details"), "cached_tokens"), (counted, "prompt_cache_hit_tokens"),
                     (counted, "cached_tokens"))  # fmt: skip  # of OpenAI, DeepSeek and Moonshot
            cached = max(_part(counts, name, most=prompt) for counts, name in names)
            reasoning = _part(counted.get("completion_tokens_details"), "reasoning_tokens", most=completion)
            return Usage(prompt=prompt, completion=completion, cached=cached, reasoning=reasoning)
    return Usage(
        prompt=estimate_tokens([request.get("messages"), request.get("tools")]),
        completion=estimate_tokens(reply.get("choices")),
        estimated=True,
    )


def _part(counts: Any, name: str, *, most: int) -> int:
    """Return the count ``counts[name]``, limited to ``most``; 0 if there is no valid count."""
    part = counts.get(name) if isinstance(counts, dict) else None
    return min(part, most) if is_count(part) else 0


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value can be a number of tokens: an integer of at least 0, not a bool."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def estimate_tokens(value: Any) -> int:
    """Estimate the tokens of a JSON value: one for four ASCII characters, one for any other character.

    Images count ``IMAGE_TOKENS`` each, however long their data URL is.
    """
    words, images = _without_images(value)
    text = canonical_json(words)
    plain = len(text.encode("ascii", "ignore"))
    return plain // 4 + (len(text) - plain) + images


def _without_images(value: Any, depth: int = 0) -> tuple[Any, int]:
    """Return the value with None for each image in it, and the assumed tokens of these images; ``depth``: levels above it."""
    if depth > _IMAGE_DEPTH:
        return value, 0
    if isinstance(value, dict):
        image = value.get("image_url")
        if image is not None and value.get("type") in _IMAGES:
            detail = image.get("detail") if isinstance(image, dict) else value.get("detail")
            return None, LOW_DETAIL_IMAGE_TOKENS if detail == "low" else IMAGE_TOKENS
        parts = {key: _without_images(part, depth + 1) for key, part in value.items()}
        return {key: part for key, (part, _) in parts.items()}, sum(images for _, images in parts.values())
    if isinstance(value, list):
        items = [_without_images(item, depth + 1) for item in value]
        return [item for item, _ in items], sum(images for _, images in items)
    return value, 0


@dataclass(frozen=True, kw_only=True)
class Price(Record):
    """USD for a million tokens: of the prompt, of its part that the server had cached, of the completion."""

    prompt: float
    cached: float
    completion: float

    def __post_init__(self) -> None:
        if not all(0 <= amount <= _MOST_USD for amount in asdict(self).values()):
            raise ValueError(f"a price is between 0 and {_MOST_USD:,}")

    def money(self, tokens: Usage | Spent) -> float:
        """Return what these tokens cost, in USD."""
        cached = min(tokens.cached, tokens.prompt)  # some servers count more
        sent = (tokens.prompt - cached) * self.prompt + cached * self.cached
        return (sent + tokens.completion * self.completion) / _MILLION


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Prices of models by the names under which they are requested; ``Prices()`` is empty."""

    models: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | str | None) -> Prices:
        """Read a JSON or YAML file ``{model: {prompt, completion, cached}}``, in USD per million tokens.

        Without ``cached``, cached tokens cost as much as others. If ``path`` is None, the result is empty.
        Raises BackendFault: ``bad_prices``.
        """
        if path is None:
            return cls()
        path = Path(path)
        try:
            entries = _TABLE.validate_python(_load(path))
        except ValidationError as error:
            first = error.errors()[0]
            place = ", ".join(map(repr, first["loc"]))
            reason = (
                f"{place} {_IN_WORDS.get(first['type'], _NO_PRICE)}"
                if place
                else "it is not a table of models and their prices"
            )
            raise _bad(f"{path.name}: {reason}") from None
        return cls(models={model: entry.price for model, entry in entries.items()})

    def of(self, model: str) -> Price | None:
        """Return the price of a model, None if it is not known."""
        return self.models.get(model)


_Amount = Annotated[float, BeforeValidator(str), Field(ge=0, le=_MOST_USD, allow_inf_nan=False)]


class _Entry(BaseModel, extra="forbid"):
    """One model in a file of prices."""

    prompt: _Amount
    completion: _Amount
    cached: _Amount | None = None
    currency: Literal["USD"] = CURRENCY

    @property
    def price(self) -> Price:
        cached = self.prompt if self.cached is None else self.cached
        return Price(prompt=self.prompt, cached=cached, completion=self.completion)


_NO_PRICE = f"is no price: a number from 0 to {_MOST_USD:,}"
#: What is wrong with an entry, by the type of pydantic's error.
_IN_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is no part of a price",
    "literal_error": f"is another currency: prices are in {CURRENCY}",
    "model_type": "is not an object with prompt and completion",
    "model_attributes_type": "is not an object with prompt and completion",
    "string_type": "is not the name of a model",
}
_TABLE = TypeAdapter(dict[str, _Entry])


def _load(path: Path) -> Any:
    """Read a YAML or JSON file; an empty one is an empty mapping. Raises BackendFault: ``bad_prices``."""
    try:
        with open_regular(path) as stream:
            content = stream.read(MAX_BYTES + 1)
        if content.lstrip(codecs.BOM_UTF8).lstrip().startswith(b"{"):
            content = content.replace(b"\t", b" ")  # JSON is YAML except for its tabs
        value = read_yaml(content, path.name, if_empty=None).value
        return {} if value is None else value
    except OSError as error:
        raise _bad(f"{path.name}: it cannot be read: {error.strerror}") from None
    except ToolFault as fault:
        raise _bad(fault.message) from None


def _bad(message: str) -> BackendFault:
    return BackendFault(
        "bad_prices",
        message,
        hint='it looks like {"model-name": {"prompt": 2.5, "cached": 0.25, "completion": 10}}, in USD per million tokens',
    )
