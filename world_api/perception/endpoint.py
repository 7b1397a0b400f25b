"""A vision model and an embedding model on an endpoint, behind the ports ``VisionModel`` and ``EmbeddingModel``.

Frames are sent as JPEG data URLs after an instruction. The question and its subject are sent in a JSON record that the
instruction declares as data. If the server refuses a setting, this request and later ones are made without it. Replies
are not trusted: instead of JSON, servers send prose, code fences and incomplete JSON.

The controller's model gets a fault of an operation outside the fields that are marked as data, so a fault must not
quote text that was read in a picture: its message is our own, the text of a model or a server is only a note for users.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from world_api.chat.messages import (
    PromptFiles,
    Usage,
    data_line,
    estimate_tokens,
    first_choice,
    is_count,
    json_objects,
    text_of,
    usage_of,
    without_refused,
)
from world_api.chat.transport import NotAReply, Sending, error_in
from world_api.core.canonical import canonical_json, closed_object, content_hash, parse_json
from world_api.core.cost import Spent, charge
from world_api.core.faults import BackendFault
from world_api.core.identifiers import printable
from world_api.core.ports import (
    ChatModel,
    Embedded,
    Expected,
    Image,
    LookReply,
    LookRequest,
    LookTask,
    Picture,
    SeenAction,
    Vectors,
)

if TYPE_CHECKING:
    from openai import OpenAI

LONGEST_SIDE = 512
REPLY_TOKENS = 800  #: limit of a reply: three sentences, and some reasoning before them
EXPECTED_TOKENS = 120  #: assumed length of a reply in estimates
_TIME_TOKENS = 12  #: of the line with a frame's time
_RECORD_ALLOWANCE = " " * 400  #: length assumed for the record of times and question
#: Settings of a request, each of which a server may refuse; the schema depends on the task.
_SETTINGS: dict[str, Any] = {"temperature": 0, "max_tokens": REPLY_TOKENS, "response_format": None}
#: How often a request may be repeated because the server refuses a setting: twice for the limit (two names), else once.
MAY_BE_REFUSED = 4
#: Codes of faults that may be about pictures; those of a server that is down or busy are not.
_REFUSALS = frozenset({"endpoint_refused_request", "endpoint_error", "endpoint_unknown_model"})
_PICTURES = re.compile(r"image|vision|visual|multi-?modal|modalit", re.IGNORECASE)
_NOT_ABLE = re.compile(
    r"not support|n't support|unsupported content|only supported by|not a multi-?modal|not multi-?modal|unknown variant"
    r"|not allowed|not accept|n't accept|cannot (?:take|read|process|see)|no (?:vision|image)|text[- ]only"
    r"|required for image|invalid content type|must be a? ?string|not enabled",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"response_format|json_schema|structured|schema|grammar|guided", re.IGNORECASE)

#: task -> the field of the reply that contains the answer.
ANSWER: dict[LookTask, str] = {
    "caption": "caption", "answer": "answer", "state": "answer", "actions": "actions", "attributes": "words",
}  # fmt: skip
#: Verdicts on a word, as the schema has them.
_YES, _NO, _CANNOT_TELL = "yes", "no", "cannot_tell"
_JPEG_QUALITY = 85
_SMALLEST_PART = 256  #: pixels; a smaller part of a frame is enlarged, or a model sees only a few patches of it
#: Assumed tokens of a picture if the server counts none: 85, and 170 for each tile of 512 x 512 pixels.
_BASE_TOKENS, _TILE_TOKENS, _TILE = 85, 170, 512
MAX_CHARACTERS = 2_000  #: of a text
MAX_ACTIONS = 40
_LABEL_CHARACTERS = 200
_NOTE_CHARACTERS = 300
_LARGEST = 1e30  #: of the numbers of a vector
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>")
#: How a list of JSON begins; "[A man in red]" does not.
_LIST = re.compile(r"\[\s*(?:[\[{\"\]]|-?\d+\s*[,\]])")
_OBJECT = re.compile(r"\{\s*\"")

#: Our words for an endpoint's fault, by its code.
_MESSAGES = {
    "endpoint_refused_request": "the endpoint did not take the request",
    "endpoint_refused_key": "the endpoint refused the key",
    "endpoint_unknown_model": "the endpoint has no model of that name",
    "endpoint_rate_limited": "the endpoint takes no more requests for now",
    "endpoint_unreachable": "the endpoint did not answer",
}
_OTHER_FAULT = "the endpoint answered with an error, or with what is no reply"


class EndpointVision:
    """A chat model that accepts pictures. Threads may share it.

    Args:
        model: The chat model.
        at: The address of its server, part of ``producer``: two servers may have different models of one name.
        longest_side: The most pixels of the longer side of a picture that is sent.
        language: Language of the replies, ``en`` or ``zh``.
    """

    def __init__(
        self, model: ChatModel, *, at: str = "", longest_side: int = LONGEST_SIDE, language: str = "en"
    ) -> None:
        self._model = model
        self._language = language
        self._prompts = PromptFiles("world_api.perception")
        self._settings = _SETTINGS
        self.longest_side = longest_side
        self.name = model.name
        self.producer = f"{_producer(model, at)}/{self._prompts.hash[:12]}/{longest_side}px/{language}"

    def expects(self, task: LookTask, pictures: int, width: int, height: int) -> Expected:
        """Estimate the tokens of a request with this many frames of that size (pixels)."""
        scale = min(1.0, self.longest_side / max(width, height, 1))
        shown = max(1, round(width * scale)), max(1, round(height * scale))
        each = assumed_tokens(*shown)
        schema = reply_schema(task)
        instruction = self._instruction(task, has_entities=False, as_text=False, schema=schema)
        words = estimate_tokens([instruction, schema, _RECORD_ALLOWANCE]) + _TIME_TOKENS * pictures
        assumed = f"a frame of {shown[0]} x {shown[1]} pixels is taken for {each} tokens; servers count differently"
        return Expected(
            prompt=words + each * pictures, completion=EXPECTED_TOKENS, most_completion=REPLY_TOKENS, assumed=assumed
        )

    def look(self, request: LookRequest) -> LookReply:
        """Send the pictures and return the parsed reply. The cost is charged even if the reply cannot be read.

        Raises BackendFault: ``endpoint_takes_no_images``, ``sight_refused``, ``sight_unreadable``, and the model's.
        """
        messages, reply = self._reply(request)
        usage = self._usage(messages, request.pictures, reply)
        spent = Spent(
            purpose="perception", model=self.name, request=request.request, prompt=usage.prompt, completion=usage.completion,
            cached=usage.cached, images=len(request.pictures), estimated=usage.estimated,
        )  # fmt: skip
        charge(spent)
        return read_reply(reply, request.task, model=self.name, spent=spent, words=request.words)

    def messages(self, request: LookRequest, *, as_text: bool = False) -> list[dict[str, Any]]:
        """Build the messages: instruction; interval, question and subject as JSON; each picture after its time.

        ``as_text`` adds the JSON Schema to the instruction, for servers that cannot enforce it.
        """
        schema = reply_schema(request.task, request.words)
        system = self._instruction(request.task, has_entities=bool(request.entities), as_text=as_text, schema=schema)
        record: dict[str, Any] = {"from": request.span.start, "to": request.span.end}
        record |= {"question": request.question} if request.question else {}
        record |= {"subject": request.subject} if request.subject else {}
        record |= {"words": list(request.words)} if request.words else {}
        record |= {"entities": [dict(entity) for entity in request.entities]} if request.entities else {}
        content: list[dict[str, Any]] = [{"type": "text", "text": data_line(record)}]
        for picture in request.pictures:
            url = data_url(picture, self.longest_side)
            content.append({"type": "text", "text": f"frame at {picture.time:.3f} s"})
            content.append({"type": "image_url", "image_url": {"url": url}})
        return [{"role": "system", "content": system}, {"role": "user", "content": content}]

    def _instruction(self, task: LookTask, *, has_entities: bool, as_text: bool, schema: dict[str, Any]) -> str:
        return self._prompts.render(
            task, language=self._language, has_entities=has_entities, as_text=as_text, schema=canonical_json(schema)
        )

    def _reply(self, request: LookRequest) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        settings = self._settings
        while True:
            structured = "response_format" in settings
            messages = self.messages(request, as_text=not structured)
            body: dict[str, Any] = {"model": self._model.name, "messages": messages, **settings}
            if structured:
                schema = {"name": request.task, "strict": True, "schema": reply_schema(request.task, request.words)}
                body["response_format"] = {"type": "json_schema", "json_schema": schema}
            try:
                reply = self._model.complete(body)
            except BackendFault as fault:
                if _refuses_images(fault):
                    ours = BackendFault(
                        "endpoint_takes_no_images",
                        f"{self.name} does not take pictures, its server says",
                        hint="name a model that does with --vision-model, or leave out --profile endpoint",
                    )
                    raise _with_note(ours, fault.message, by="the endpoint's client") from fault
                changed = without_refused(settings, fault)
                if changed is None:
                    changed = _without_schema(settings, fault)
                if changed is None:
                    raise _reworded(fault, self.name) from fault
                request.again()
                settings = changed
            else:
                self._settings = settings  # what was accepted once is tried first from now on
                return messages, reply

    def _usage(self, messages: list[dict[str, Any]], pictures: tuple[Picture, ...], reply: dict[str, Any]) -> Usage:
        """Return the tokens of a look: the server's count, else an estimate that includes the pictures."""
        words = [part for part in messages[1]["content"] if part["type"] == "text"]
        usage = usage_of({"messages": [messages[0], {**messages[1], "content": words}]}, reply)
        if not usage.estimated:
            return usage
        sizes = [_resized(picture, self.longest_side).shape for picture in pictures]
        tokens = sum(assumed_tokens(width, height) for height, width, *_ in sizes)
        return usage + Usage(prompt=tokens, estimated=True)


def _without_schema(settings: dict[str, Any], fault: BackendFault) -> dict[str, Any] | None:
    """Return the settings without ``response_format`` if a fault may be due to it; None if not, or if it is not set."""
    is_about_it = fault.code == "endpoint_error" and _FORMAT.search(fault.message)
    if "response_format" not in settings or not (is_about_it or fault.code == "endpoint_refused_request"):
        return None
    return {name: value for name, value in settings.items() if name != "response_format"}


def _refuses_images(fault: BackendFault) -> bool:
    """Whether a server refused a request because of its pictures."""
    return (
        fault.code in _REFUSALS
        and _PICTURES.search(fault.message) is not None
        and _NOT_ABLE.search(fault.message) is not None
        and _FORMAT.search(fault.message) is None
    )


def reply_schema(task: LookTask, words: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of the reply to a task; ``words`` are those to judge."""
    text: dict[str, Any] = {"type": "string"}
    if task == "attributes":
        verdict: dict[str, Any] = {"type": "string", "enum": [_YES, _NO, _CANNOT_TELL]}
        return closed_object(
            {"words": closed_object(dict.fromkeys(words, verdict)), "description": text, "uncertain": text}
        )
    confidence: dict[str, Any] = {"type": ["number", "null"]}
    if task == "caption":
        return closed_object({"caption": text, "uncertain": text})
    if task == "actions":
        action = closed_object({"label": text, "confidence": confidence})
        return closed_object({"actions": {"type": "array", "items": action}, "uncertain": text})
    return closed_object({"answer": text, "confidence": confidence, "uncertain": text})


def data_url(picture: Picture, longest_side: int) -> str:
    """Return a picture as a JPEG data URL, its longer side at most ``longest_side`` pixels.

    Raises BackendFault: ``picture_unusable``.
    """
    import cv2

    encoded, jpeg = cv2.imencode(".jpg", _resized(picture, longest_side), [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    if not encoded:
        raise BackendFault("picture_unusable", "a frame could not be encoded as JPEG", hint="ask about another time")
    return "data:image/jpeg;base64," + base64.b64encode(jpeg.tobytes()).decode()


def _resized(picture: Picture, longest_side: int) -> Image:
    """Return the image with its longer side at most ``longest_side`` pixels; small parts of a frame are enlarged."""
    import cv2

    image = picture.image
    height, width = image.shape[:2]
    longer = max(height, width)
    side = min(longest_side, max(longer, _SMALLEST_PART) if picture.is_part else longer)
    if side == longer:
        return image
    size = max(1, round(width * side / longer)), max(1, round(height * side / longer))
    resized: Image = cv2.resize(image, size, interpolation=cv2.INTER_AREA if side < longer else cv2.INTER_CUBIC)
    return resized


def assumed_tokens(width: int, height: int) -> int:
    """Return the tokens that are assumed for a picture of ``width`` x ``height`` pixels without a server's count."""
    return _BASE_TOKENS + _TILE_TOKENS * math.ceil(width / _TILE) * math.ceil(height / _TILE)


class _UnreadableError(Exception):
    """The reason why a reply cannot be used. Its text quotes nothing of the reply."""


def read_reply(
    reply: dict[str, Any], task: LookTask, *, model: str, spent: Spent, words: Sequence[str] = ()
) -> LookReply:
    """Parse a Chat Completions reply to a look; ``words`` are those that it was to judge.

    Plain text instead of JSON is the caption or the answer, but neither ``actions`` nor ``attributes``.

    Raises BackendFault: ``sight_refused``: the model refused; ``sight_unreadable``: the reply contains nothing usable.
    """
    choice = first_choice(reply)
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        fault = BackendFault(
            "sight_refused",
            f"{model} would not answer about these frames",
            hint="ask about another interval, or in other words",
        )
        raise _with_note(fault, refusal, by=model)
    content = text_of(message, "")
    try:
        return _read_content(content, task, spent, words, is_cut=choice.get("finish_reason") == "length")
    except _UnreadableError as error:
        fault = BackendFault(
            "sight_unreadable",
            f"the reply of {model} about these frames cannot be read: {error}",
            hint="ask again; a model that often replies like this is not made for it",
        )
        raise _with_note(fault, content, by=model) from None


def _read_content(content: str, task: LookTask, spent: Spent, words: Sequence[str], *, is_cut: bool) -> LookReply:
    said = _without_thoughts(content)
    if not said:
        raise _UnreadableError("it was cut off before it said anything" if is_cut else "it is empty")
    record = _object_in(said, task)
    if record is not None:
        return _read_record(record, task, spent, words)
    if _LIST.match(said) or _OBJECT.search(said) or said[0] == "{" or "```" in said:
        raise _UnreadableError("its JSON was cut off" if is_cut else "its JSON is broken")
    if task in ("actions", "attributes"):
        raise _UnreadableError(f"it has no list of {task}")
    return LookReply(text=one_line(said, MAX_CHARACTERS), spent=spent)


def _without_thoughts(content: str) -> str:
    """Return a reply's text without ``<think>`` blocks; some servers send only the closing tag. JSON is unchanged."""
    if _json(content) is not None:
        return content.strip()  # a tag in there was read off the pictures
    return _THOUGHT_ENDS.split(_THOUGHT.sub("", content))[-1].strip()


def _read_record(record: dict[str, Any], task: LookTask, spent: Spent, words: Sequence[str]) -> LookReply:
    answer, uncertain = record.get(ANSWER[task]), record.get("uncertain")
    doubt = one_line(uncertain, 500) if isinstance(uncertain, str) else ""
    if task == "attributes":
        return _read_verdicts(answer, record.get("description"), words, doubt, spent)
    if task == "actions":
        if not isinstance(answer, list):
            raise _UnreadableError("it has no list of actions")
        actions = tuple(action for item in answer[:MAX_ACTIONS] if (action := _action(item)) is not None)
        if answer and not actions:
            raise _UnreadableError("none of its actions has a label")
        text = "; ".join(action.label for action in actions)
        return LookReply(text=text, uncertain=doubt, actions=actions, spent=spent)
    if not isinstance(answer, str) or not answer.strip():
        raise _UnreadableError(f"it has no {ANSWER[task]}")
    text = one_line(answer, MAX_CHARACTERS)
    confidence = _confidence(record.get("confidence"))
    return LookReply(text=text, confidence=confidence, uncertain=doubt, spent=spent)


def _read_verdicts(answer: Any, said: Any, words: Sequence[str], doubt: str, spent: Spent) -> LookReply:
    """Return the verdicts on ``words``; other words, and other verdicts than yes and no, judge nothing.

    Raises _UnreadableError: none of the words has a verdict.
    """
    verdicts = answer if isinstance(answer, dict) else {}
    given = {word: str(verdicts[word]).strip().casefold() for word in words if isinstance(verdicts.get(word), str)}
    if not {_YES, _NO, _CANNOT_TELL} & set(given.values()):
        raise _UnreadableError("it judges none of the words")
    return LookReply(
        text=one_line(said, MAX_CHARACTERS) if isinstance(said, str) else "",
        uncertain=doubt,
        affirmed=tuple(word for word, verdict in given.items() if verdict == _YES),
        denied=tuple(word for word, verdict in given.items() if verdict == _NO),
        spent=spent,
    )


def _action(item: Any) -> SeenAction | None:
    fields = item if isinstance(item, dict) else {"label": item}
    label = fields.get("label")
    if not isinstance(label, str) or not label.strip():
        return None
    return SeenAction(label=one_line(label, _LABEL_CHARACTERS), confidence=_confidence(fields.get("confidence")))


def _confidence(value: Any) -> float | None:
    """Return a number from 0 to 1, rounded to two decimals; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return round(float(value), 2)


def _object_in(text: str, task: LookTask) -> dict[str, Any] | None:
    """Return the first JSON object in a text, or directly inside one, that has the task's answer.

    Without one, return the whole text if it is an object, else None. A list is taken as the answer of ``actions``.
    """
    whole = _json(text)
    if task == "actions" and isinstance(whole, list):
        return {ANSWER[task]: whole}
    found = [whole] if isinstance(whole, dict) else [value for *_, value in json_objects(text)]
    wrapped = [inner for value in found for inner in value.values() if isinstance(inner, dict)]
    answers = (value for value in (*found, *wrapped) if ANSWER[task] in value)
    return next(answers, whole if isinstance(whole, dict) else None)


def _json(text: str) -> Any:
    """Return the value of a text that is a JSON object or list; else None."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def _producer(model: ChatModel, at: str) -> str:
    """Return a text that identifies the model and its server; the address is hashed, since it may be confidential."""
    return f"endpoint:{model.name}/{content_hash(at)[:12]}"


def one_line(text: str, limit: int) -> str:
    """Return a text on one line; the last of ``limit`` characters is "…" if it is cut, U+FFFD replaces what has no UTF-8."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _with_note(fault: BackendFault, said: str, *, by: str) -> BackendFault:
    """Add the beginning of ``said``, a text from ``by`` (a model or server), to a fault as a note; return the fault.

    Notes are printed for users and are not part of the fault's record.
    """
    if said.strip():
        fault.add_note(f"{by} said: {one_line(said, _NOTE_CHARACTERS)}")
    return fault


def _reworded(fault: BackendFault, model: str) -> BackendFault:
    """Return a fault of the chat client with a message of our own; the client's, which quotes the server, is a note."""
    ours = BackendFault(fault.code, f"{model}: {_MESSAGES.get(fault.code, _OTHER_FAULT)}", hint=fault.hint)
    return _with_note(ours, fault.message, by="the endpoint's client")


class EmbeddingsWire:
    """``POST /embeddings`` as a ``ChatWire``: a request contains ``model`` and ``input``, the reply is the server's body."""

    name = "embeddings"

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> Sending:
        """Send the request; ask for vectors as plain numbers, since the client's default is Base64. ``seconds``: timeout."""
        return client.embeddings.with_streaming_response.create(
            model=request["model"], input=request["input"], encoding_format="float", timeout=seconds
        )

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the body unchanged.

        Raises NotAReply: it reports an error, or has no list of vectors.
        """
        if isinstance(answer.get("data"), list):
            return answer
        raise error_in(answer) or NotAReply("it has no list of vectors")

    def adapt(self, refusal: str) -> bool:
        """Return False, since nothing can be left out of the request after a ``refusal`` (the server's message)."""
        return False


class EndpointEmbedder:
    """Embeds texts with a model on an endpoint, all in one request. ``model`` uses an ``EmbeddingsWire``.

    ``at``, part of ``producer``, is the address of its server: two servers may have different models of one name.
    """

    def __init__(self, model: ChatModel, *, at: str = "") -> None:
        self._model = model
        self.name = model.name
        self.producer = _producer(model, at)

    def embed_texts(self, texts: Sequence[str], request: str) -> Embedded:
        """Return one unit vector per text, and the cost, which is charged under ``request``, the hash of the request.

        Raises BackendFault: ``embedding_unreadable``, and the endpoint's.
        """
        sent = [printable(text[:MAX_CHARACTERS]) for text in texts]
        try:
            answer = self._model.complete({"model": self._model.name, "input": sent})
        except BackendFault as fault:
            raise _reworded(fault, self.name) from fault
        usage = answer.get("usage")
        reported = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        counted = reported if is_count(reported) and reported < _LARGEST else None
        spent = Spent(
            purpose="perception", model=self.name, request=request, completion=0, estimated=counted is None,
            prompt=estimate_tokens(sent) if counted is None else counted,
        )  # fmt: skip
        charge(spent)
        vectors = self._vectors(answer["data"], len(sent))
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        return Embedded(vectors=(vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32), spent=spent)

    def _vectors(self, items: list[Any], count: int) -> Vectors:
        if len(items) != count:
            raise self._unreadable(f"{len(items)} vectors for {count} texts")
        found: dict[int, list[float]] = {}
        for place, item in enumerate(items):
            fields = item if isinstance(item, dict) else {}
            index, vector = fields.get("index", place), fields.get("embedding")
            if not is_count(index) or index >= count or index in found or not _is_vector(vector):
                raise self._unreadable("one of its vectors is none")
            found[index] = vector
        if len({len(vector) for vector in found.values()}) != 1:
            raise self._unreadable("its vectors differ in length")
        return np.array([found[place] for place in range(count)], dtype=np.float32)

    def _unreadable(self, why: str) -> BackendFault:
        return BackendFault(
            "embedding_unreadable",
            f"the reply of {self.name} for texts cannot be read: {why}",
            hint="name a model that makes text vectors with --embedding-model, or none",
        )


def _is_vector(value: Any) -> TypeGuard[list[float]]:
    # The comparison is true for whole numbers beyond any float too, and never for NaN.
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < _LARGEST for one in value)
    )
