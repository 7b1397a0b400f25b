"""A chat model that takes pictures, behind the ``VisionModel`` port.

Frames go to it as JPEG data URLs beside an instruction. What it shall answer about (the question, what a thing was taken for)
goes into a JSON record that the instruction names as data. Where the server refuses a setting, the request is made without
it, and so are those after it.
"""

from __future__ import annotations

from typing import Any

from world_api.backends.chat.completions import Usage, estimate_tokens, usage_of
from world_api.backends.chat.prompts import PromptFiles, data_line
from world_api.backends.endpoint.encoding import assumed_tokens, data_url, sized
from world_api.backends.endpoint.reading import read_reply
from world_api.backends.endpoint.refusals import Settings, takes_no_images
from world_api.backends.endpoint.schemas import reply_schema, response_format
from world_api.backends.endpoint.wording import in_our_words, noting, producer_of
from world_api.core.ambient.spending import Spent, charge
from world_api.core.canonical import canonical
from world_api.core.faults import BackendFault
from world_api.core.ports import ChatModel, Expected, LookReply, LookRequest, LookTask, Picture

LONGEST_SIDE = 512
#: Tokens of a reply: three sentences and room for a model that thinks a little.
REPLY_TOKENS = 800
#: What a reply is taken for before it is there.
LIKELY_TOKENS = 120
_WORDS_A_FRAME = 12  #: tokens of the line that tells a frame's time
_RECORD_ALLOWED = " " * 400  #: stands for the record of times and question


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
        self._settings = Settings(reply_tokens=REPLY_TOKENS)
        self.longest_side = longest_side
        self.name = model.name
        self.producer = f"{producer_of(model, at)}/{self._prompts.hash[:12]}/{longest_side}px/{language}"

    def expects(self, task: LookTask, pictures: int, width: int, height: int) -> Expected:
        """What a look at so many frames of that size (pixels) is likely to take."""
        scale = min(1.0, self.longest_side / max(width, height, 1))
        shown = max(1, round(width * scale)), max(1, round(height * scale))
        each = assumed_tokens(*shown)
        instruction = self._prompts.render(
            task, language=self._language, as_text=False, schema=canonical(reply_schema(task))
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
        schema = canonical(reply_schema(request.task))
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
            messages = self.messages(request, as_text=not settings.structured)
            asked: dict[str, Any] = {"model": self._model.name, "messages": messages, **settings.record()}
            if settings.structured:
                asked["response_format"] = response_format(request.task)
            try:
                reply = self._model.complete(asked)
            except BackendFault as fault:
                if takes_no_images(fault):
                    raise _no_images(self.name, fault) from fault
                changed = settings.without_refused(fault)
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
