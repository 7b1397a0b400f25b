"""A chat model that takes pictures, behind the ``VisionModel`` port.

Frames go to it as JPEG data URLs beside an instruction. What it shall answer about (the question, what a thing was taken for)
goes into a JSON record that the instruction names as data. Where the server refuses a setting, the request is made without
it, and so are those after it. Replies are read without trust: servers that were asked for JSON send prose, fences and halves of it.

A fault of an operation is shown to the controller's model as it is, outside the fields that are marked as data. So none may
repeat what was read off a picture: faults are in our words, and what a model or a server wrote is a note for people.
"""

from __future__ import annotations

import base64
import math
import re
from dataclasses import dataclass
from typing import Any

from world_api.backends.chat.completions import (
    Usage,
    estimate_tokens,
    first_choice,
    json_objects,
    text_of,
    usage_of,
    without_refused,
)
from world_api.backends.chat.prompts import PromptFiles, data_line
from world_api.core.canonical import canonical_json, content_hash, parse_json
from world_api.core.cost import Spent, charge
from world_api.core.faults import BackendFault
from world_api.core.identifiers import printable
from world_api.core.ports import (
    ChatModel,
    Expected,
    Image,
    LookReply,
    LookRequest,
    LookTask,
    Picture,
    SeenAction,
)

LONGEST_SIDE = 512
#: Tokens of a reply: three sentences and room for a model that thinks a little.
REPLY_TOKENS = 800
#: What a reply is taken for before it is there.
LIKELY_TOKENS = 120
_WORDS_A_FRAME = 12  #: tokens of the line that tells a frame's time
_RECORD_ALLOWED = " " * 400  #: stands for the record of times and question
#: Settings of a request, each of which a server may refuse; the schema depends on the task.
_SETTINGS: dict[str, Any] = {"temperature": 0, "max_tokens": REPLY_TOKENS, "response_format": None}
#: How often a request may be sent once more at most, since a server refuses a setting: the limit's two names, the others once.
MAY_BE_REFUSED = 4
#: Faults that say a request was understood and not taken; a server that is down or busy says nothing about pictures.
_NOT_TAKEN = frozenset({"endpoint_refused_request", "endpoint_error", "endpoint_unknown_model"})
_PICTURES = re.compile(r"image|vision|visual|multi-?modal|modalit", re.IGNORECASE)
_NOT_ABLE = re.compile(
    r"not support|n't support|unsupported content|only supported by|not a multi-?modal|not multi-?modal|unknown variant"
    r"|not allowed|not accept|n't accept|cannot (?:take|read|process|see)|no (?:vision|image)|text[- ]only"
    r"|required for image|invalid content type|must be a? ?string|not enabled",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"response_format|json_schema|structured|schema|grammar|guided", re.IGNORECASE)
_TEXT: dict[str, Any] = {"type": "string"}
_SURENESS: dict[str, Any] = {"type": ["number", "null"]}

#: The field that carries the answer of each task.
ANSWER: dict[LookTask, str] = {"caption": "caption", "answer": "answer", "state": "answer", "actions": "actions"}
_QUALITY = 85
_SMALLEST_PART = 256  #: pixels; a smaller part of a frame is enlarged, or a model sees a few patches of it

#: What a picture is taken to cost where a server counts no tokens: 85, and 170 for each tile of 512 x 512 pixels.
_BASE_TOKENS, _TILE_TOKENS, _TILE = 85, 170, 512
MAX_CHARACTERS = 2_000  #: of a text
MAX_ACTIONS = 40
_LABEL_CHARACTERS = 200
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>")
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)(?:```|\Z)", re.DOTALL)
#: How a list of JSON begins; "[A man in red]" does not.
_LIST = re.compile(r"\[\s*(?:[\[{\"\]]|-?\d+\s*[,\]])")
_OBJECT = re.compile(r"\{\s*\"")

_QUOTED = 300  #: characters of a note

#: What is told of an endpoint's fault, by its code.
_OURS = {
    "endpoint_refused_request": "the endpoint did not take the request",
    "endpoint_refused_key": "the endpoint refused the key",
    "endpoint_unknown_model": "the endpoint has no model of that name",
    "endpoint_rate_limited": "the endpoint takes no more requests for now",
    "endpoint_unreachable": "the endpoint did not answer",
}
_ELSE = "the endpoint answered with an error, or with what is no reply"


class EndpointVision:
    """Looks through a chat model. Threads may share it.

    ``at`` says where the model is: two servers may have different models under one name. ``language`` (``en`` or ``zh``) is
    that of what it says.
    """

    def __init__(
        self, model: ChatModel, *, at: str = "", longest_side: int = LONGEST_SIDE, language: str = "en"
    ) -> None:
        self._model = model
        self._language = language
        self._prompts = PromptFiles("world_api.backends.endpoint")
        self._settings = _SETTINGS
        self.longest_side = longest_side
        self.name = model.name
        self.producer = f"{producer_of(model, at)}/{self._prompts.hash[:12]}/{longest_side}px/{language}"

    def expects(self, task: LookTask, pictures: int, width: int, height: int) -> Expected:
        """What a look at so many frames of that size (pixels) is likely to take."""
        scale = min(1.0, self.longest_side / max(width, height, 1))
        shown = max(1, round(width * scale)), max(1, round(height * scale))
        each = assumed_tokens(*shown)
        instruction = self._prompts.render(
            task, language=self._language, as_text=False, schema=canonical_json(reply_schema(task))
        )
        words = estimate_tokens([instruction, reply_schema(task), _RECORD_ALLOWED]) + _WORDS_A_FRAME * pictures
        return Expected(
            prompt=words + each * pictures,
            completion=LIKELY_TOKENS,
            most_completion=REPLY_TOKENS,
            assumed=f"a frame of {shown[0]} x {shown[1]} pixels is taken for {each} tokens; servers count differently",
        )

    def look(self, request: LookRequest) -> LookReply:
        """What the model says of the pictures. The cost is charged, also where the reply cannot be read.

        Raises:
            BackendFault: ``endpoint_takes_no_images``, ``sight_refused``, ``sight_unreadable``, and what the model names.
        """
        messages, reply = self._reply(request)
        usage = self._usage(messages, request.pictures, reply)
        spent = Spent(
            purpose="perception",
            model=self._model.name,
            request=request.request,
            prompt=usage.prompt,
            completion=usage.completion,
            cached=usage.cached,
            images=len(request.pictures),
            estimated=usage.estimated,
        )
        charge(spent)
        read = read_reply(reply, request.task, model=self.name)
        return LookReply(
            text=read.text, confidence=read.confidence, uncertain=read.uncertain, actions=read.actions, spent=spent
        )

    def messages(self, request: LookRequest, *, as_text: bool = False) -> list[dict[str, Any]]:
        """What is sent: an instruction, the record, and each picture after its time.

        ``as_text`` also asks for JSON in words, for servers that cannot be made to write it.
        """
        schema = canonical_json(reply_schema(request.task))
        system = self._prompts.render(request.task, language=self._language, as_text=as_text, schema=schema)
        record: dict[str, Any] = {"from": request.span.start, "to": request.span.end}
        record |= {"question": request.question} if request.question else {}
        record |= {"subject": request.subject} if request.subject else {}
        content: list[dict[str, Any]] = [{"type": "text", "text": data_line(record)}]
        for picture in request.pictures:
            content.append({"type": "text", "text": f"frame at {picture.time:.3f} s"})
            url = data_url(picture, self.longest_side)
            content.append({"type": "image_url", "image_url": {"url": url}})
        return [{"role": "system", "content": system}, {"role": "user", "content": content}]

    def _reply(self, request: LookRequest) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        settings = self._settings
        while True:
            structured = "response_format" in settings
            messages = self.messages(request, as_text=not structured)
            asked: dict[str, Any] = {"model": self._model.name, "messages": messages, **settings}
            if structured:
                asked["response_format"] = response_format(request.task)
            try:
                reply = self._model.complete(asked)
            except BackendFault as fault:
                if takes_no_images(fault):
                    raise _no_images(self.name, fault) from fault
                changed = without_refused(settings, fault)
                if changed is None:
                    changed = _without_schema(settings, fault)
                if changed is None:
                    raise in_our_words(fault, self.name) from fault
                request.again()
                settings = changed
            else:
                self._settings = settings  # what was taken once is tried first from now on
                return messages, reply

    def _usage(self, messages: list[dict[str, Any]], pictures: tuple[Picture, ...], reply: dict[str, Any]) -> Usage:
        """The tokens as the server counted them, else of the words, and of the pictures as they are assumed."""
        words = [part for part in messages[1]["content"] if part["type"] == "text"]
        usage = usage_of({"messages": [messages[0], {**messages[1], "content": words}]}, reply)
        if not usage.estimated:
            return usage
        sizes = [sized(picture, self.longest_side).shape for picture in pictures]
        seen = sum(assumed_tokens(width, height) for height, width, *_ in sizes)
        return usage + Usage(prompt=seen, estimated=True)


def _no_images(model: str, fault: BackendFault) -> BackendFault:
    told = BackendFault(
        "endpoint_takes_no_images",
        f"{model} does not take pictures, its server says",
        hint="name a model that does with --vision-model, or leave out --profile endpoint",
    )
    return noting(told, fault.message, by="the endpoint's client")


def _without_schema(settings: dict[str, Any], fault: BackendFault) -> dict[str, Any] | None:
    """The settings without the schema, where a request was refused and no setting was named; None where there is none."""
    refused = fault.code == "endpoint_refused_request" or (
        fault.code == "endpoint_error" and _FORMAT.search(fault.message)
    )
    if not refused or "response_format" not in settings:
        return None
    return {name: value for name, value in settings.items() if name != "response_format"}


def takes_no_images(fault: BackendFault) -> bool:
    """Whether a server refused a request because there are pictures in it."""
    return (
        fault.code in _NOT_TAKEN
        and _PICTURES.search(fault.message) is not None
        and _NOT_ABLE.search(fault.message) is not None
        and _FORMAT.search(fault.message) is None
    )


def reply_schema(task: LookTask) -> dict[str, Any]:
    """The schema of a reply."""
    if task == "caption":
        return _object({"caption": _TEXT, "uncertain": _TEXT})
    if task == "actions":
        action = _object({"label": _TEXT, "confidence": _SURENESS})
        return _object({"actions": {"type": "array", "items": action}, "uncertain": _TEXT})
    return _object({"answer": _TEXT, "confidence": _SURENESS, "uncertain": _TEXT})


def response_format(task: LookTask) -> dict[str, Any]:
    """The same as a chat request asks for it."""
    schema = {"name": task, "strict": True, "schema": reply_schema(task)}
    return {"type": "json_schema", "json_schema": schema}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def data_url(picture: Picture, longest_side: int) -> str:
    """A picture as a data URL.

    Raises:
        BackendFault: ``picture_unusable``.
    """
    import cv2

    encoded, jpeg = cv2.imencode(".jpg", sized(picture, longest_side), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    if not encoded:
        raise BackendFault("picture_unusable", "a frame could not be encoded as JPEG", hint="ask about another time")
    return "data:image/jpeg;base64," + base64.b64encode(jpeg.tobytes()).decode()


def sized(picture: Picture, longest_side: int) -> Image:
    """The picture with its longer side at most ``longest_side`` pixels; small parts of a frame are enlarged."""
    import cv2

    image = picture.image
    height, width = image.shape[:2]
    longer = max(height, width)
    wanted = min(longest_side, max(longer, _SMALLEST_PART) if picture.is_part else longer)
    if wanted == longer:
        return image
    size = max(1, round(width * wanted / longer)), max(1, round(height * wanted / longer))
    resized: Image = cv2.resize(image, size, interpolation=cv2.INTER_AREA if wanted < longer else cv2.INTER_CUBIC)
    return resized


def assumed_tokens(width: int, height: int) -> int:
    """What a picture of that size is taken to cost before a server has counted it."""
    return _BASE_TOKENS + _TILE_TOKENS * math.ceil(width / _TILE) * math.ceil(height / _TILE)


@dataclass(frozen=True, kw_only=True)
class Read:
    """What a reply says."""

    text: str
    confidence: float | None
    uncertain: str
    actions: tuple[SeenAction, ...]


def read_reply(reply: dict[str, Any], task: LookTask, *, model: str) -> Read:
    """What a Chat Completions reply says to a task; plain text is taken for the caption or the answer.

    Raises:
        BackendFault: ``sight_refused``: the model would not; ``sight_unreadable``: nothing in it can be used.
    """
    choice = first_choice(reply)
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        fault = BackendFault(
            "sight_refused",
            f"{model} would not answer about these frames",
            hint="ask about another stretch, or in other words",
        )
        raise noting(fault, refusal, by=model)
    content = text_of(message, "")
    try:
        return _of_content(content, task, is_cut=choice.get("finish_reason") == "length")
    except _UnreadableError as error:
        raise noting(_unreadable(model, str(error)), content, by=model) from None


class _UnreadableError(Exception):
    """Why a reply cannot be used, in our words: none of the reply's."""


def _of_content(content: str, task: LookTask, *, is_cut: bool) -> Read:
    said = _without_thoughts(content)
    if not said:
        raise _UnreadableError("it was cut off before it said anything" if is_cut else "it is empty")
    record = _object_in(said, task)
    if record is not None:
        return _of_record(record, task)
    if _LIST.match(said) or _OBJECT.search(said) or said[0] == "{" or "```" in said:
        raise _UnreadableError("its JSON was cut off" if is_cut else "its JSON is broken")
    if task == "actions":
        raise _UnreadableError("it lists no actions")
    return Read(text=one_line(said, MAX_CHARACTERS), confidence=None, uncertain="", actions=())


def _without_thoughts(content: str) -> str:
    """What is said after thinking; some servers send the end of a thought without its beginning."""
    if _parsed(content) is not None:
        return content.strip()  # a tag in there was read off the pictures
    return _THOUGHT_ENDS.split(_THOUGHT.sub("", content))[-1].strip()


def _of_record(record: dict[str, Any], task: LookTask) -> Read:
    answer = record.get(ANSWER[task])
    uncertain = record.get("uncertain")
    doubt = one_line(uncertain, 500) if isinstance(uncertain, str) else ""
    if task == "actions":
        if not isinstance(answer, list):
            raise _UnreadableError("it has no list of actions")
        actions = tuple(action for item in answer[:MAX_ACTIONS] if (action := _action(item)) is not None)
        if answer and not actions:
            raise _UnreadableError("none of its actions has a label")
        return Read(text="; ".join(a.label for a in actions), confidence=None, uncertain=doubt, actions=actions)
    if not isinstance(answer, str) or not answer.strip():
        raise _UnreadableError(f"it has no {ANSWER[task]}")
    text = one_line(answer, MAX_CHARACTERS)
    return Read(text=text, confidence=_sureness(record.get("confidence")), uncertain=doubt, actions=())


def _action(item: Any) -> SeenAction | None:
    label = item.get("label") if isinstance(item, dict) else item
    if not isinstance(label, str) or not label.strip():
        return None
    confidence = _sureness(item.get("confidence")) if isinstance(item, dict) else None
    return SeenAction(label=one_line(label, _LABEL_CHARACTERS), confidence=confidence)


def _sureness(value: Any) -> float | None:
    """A number from 0 to 1; anything else says nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return round(float(value), 2)


def _object_in(text: str, task: LookTask) -> dict[str, Any] | None:
    """The JSON object that a text is, or holds: one that answers, else the one that it is as a whole or between fences."""
    wholes = [_parsed(text), *(_parsed(match[1]) for match in _FENCED.finditer(text))]
    if task == "actions" and isinstance(wholes[0], list):
        return {ANSWER[task]: wholes[0]}
    found = [value for value in wholes if isinstance(value, dict)]
    candidates = [*found, *(value for _, value in json_objects(text))]
    wrapped = (inner for value in candidates for inner in value.values() if isinstance(inner, dict))
    answers = (value for value in (*candidates, *wrapped) if ANSWER[task] in value)
    return next(answers, found[0] if found else None)


def _parsed(text: str) -> Any:
    """The object or list that a text is as JSON; else None."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def _unreadable(model: str, why: str) -> BackendFault:
    return BackendFault(
        "sight_unreadable",
        f"the reply of {model} about these frames cannot be read: {why}",
        hint="ask again; a model that often does so is not made for this",
    )


def producer_of(model: ChatModel, at: str) -> str:
    """Who says something: the model, and where it is, as a hash: an address may tell more than others need to know."""
    return f"endpoint:{model.name}/{content_hash(at)[:12]}"


def one_line(text: str, limit: int) -> str:
    """A text on one line, cut at a limit; U+FFFD stands for what no encoding can write."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def noting(fault: BackendFault, said: str, *, by: str) -> BackendFault:
    """The fault, with the beginning of what was said as a note. Notes are printed for people, and are in no record."""
    if said.strip():
        fault.add_note(f"{by} said: {one_line(said, _QUOTED)}")
    return fault


def in_our_words(fault: BackendFault, model: str) -> BackendFault:
    """A fault of the chat client, which quotes the server, without that quotation."""
    ours = BackendFault(fault.code, f"{model}: {_OURS.get(fault.code, _ELSE)}", hint=fault.hint)
    return noting(ours, fault.message, by="the endpoint's client")
