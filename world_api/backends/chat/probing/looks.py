"""The small questions of a probe, each with what its answer says about the server."""

from __future__ import annotations

from collections.abc import Callable

from world_api.backends.chat.probing.asking import Asker
from world_api.backends.chat.probing.capabilities import CheckName, Outcome
from world_api.backends.chat.probing.notes import Notes, refusal
from world_api.backends.chat.probing.pictures import LEFT_COLOUR, RIGHT_COLOUR, two_colours
from world_api.backends.chat.probing.speech import Asked, Json, Spoken, Tool, follow_up, request_for, spoken_on
from world_api.backends.chat.wires.named import WireName, wire_named
from world_api.backends.chat.wires.text_calls import call_position
from world_api.backends.chat.wires.transport import Heard
from world_api.core.canonical import parse_json
from world_api.core.faults import BackendFault

CITY_TOOL = Tool(
    name="look_up_city",
    description="Look up the code word of a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city's name."}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
STRICT_TOOL = Tool(name=CITY_TOOL.name, description=CITY_TOOL.description, parameters=CITY_TOOL.parameters, strict=True)
_PARIS = "Use the tool to look up the code word of the city Paris."
_BOTH = "Use the tool to look up the code words of two cities, Paris and Oslo. Make both calls at once, in one reply."
_TELL = "Use the tool to look up the code word of the city Paris, then say that word."
_CODE_WORD = "tangerine"  #: no model says it by chance
_COLOURS = "What colours are the left and the right half of this picture? Answer in two words: left, then right."
_FORM: Json = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["agreed", "denied"]},
        "letters": {"type": "integer", "description": "How many letters the city's name has."},
    },
    "required": ["verdict", "letters"],
    "additionalProperties": False,
}
ONE_CALL = Asked(words=_PARIS, tools=(CITY_TOOL,))


class Looks:
    """Asks one model on one wire, and notes what is seen."""

    def __init__(self, asker: Asker, model: str, wire: WireName, notes: Notes) -> None:
        self._asker, self._model, self._notes = asker, model, notes
        self._name = wire
        self._wire = wire_named(wire)

    def first(self) -> Heard:
        """One call of one tool: whether tools reach the model, and in what form its calls come."""
        heard, spoken = self._ask(ONE_CALL)
        if spoken is None:
            if heard.status in (400, 422) and "responses" not in heard.told.lower():
                self._notes.note("tools", "not_offered", refusal(heard))
        elif not spoken.calls:
            self._notes.note("tools", "wrong", f"{self._why_uncalled(spoken)}: {spoken.text!r}")
        else:
            known = all(call.name == CITY_TOOL.name for call in spoken.calls)
            seen = f"called {', '.join(str(call.name) for call in spoken.calls)}"
            self._notes.note("tools", "ok" if known else "wrong", seen)
            self._notes.calls(spoken.calls)
        return heard

    def _why_uncalled(self, spoken: Spoken) -> str:
        """Why a tool was not called: written as text, dropped on the way, or left alone by the model."""
        if call_position(spoken.text, {CITY_TOOL.name}) is not None:
            return "a call written as text"
        _, bare = self._ask(Asked(words=_PARIS))
        counts = [reply.usage.prompt for reply in (spoken, bare) if reply is not None and reply.usage is not None]
        if len(counts) == 2 and counts[0] <= counts[1]:
            return f"the tool was dropped on the way ({counts[0]} tokens read with and {counts[1]} without it)"
        return "the tool was taken and not called"

    def there(self) -> None:
        """Whether this wire is there at all, beside the one that is spoken."""
        heard, spoken = self._ask(Asked(words="Say: ready."))
        self._notes.note(self._name, *(("ok", "it answers") if spoken is not None else ("not_offered", refusal(heard))))

    def all(self) -> bool:
        """Everything that is asked once the wire is chosen; whether nothing kept it from being found out.

        Raises:
            BackendFault: ``endpoint_refused_key``.
        """
        looks: list[tuple[CheckName, Callable[[], None]]] = []
        if self._notes.outcome("tools") in ("ok", "wrong"):
            looks += [("tool_choice", self.choice), ("parallel_calls", self.several), ("history", self.history)]
            looks += [("strict", self.strict)]
        looks += [("structured_output", self.form), ("images", self.picture), ("embeddings", self.embedding)]
        whole = [self.looked(name, look) for name, look in looks]
        return all(whole)

    def looked(self, name: CheckName, look: Callable[[], None]) -> bool:
        """Look at one thing; what makes a server fail is a finding too, but not what keeps it from answering at all."""
        try:
            look()
        except BackendFault as fault:
            if fault.code == "endpoint_refused_key":
                raise
            failed = fault.code == "endpoint_error"
            self._notes.note(name, "wrong" if failed else "not_tried", fault.message)
            return failed
        return True

    def choice(self) -> None:
        """Whether a call can be forbidden, and forced."""
        heard, spoken = self._ask(Asked(words=_PARIS, tools=(CITY_TOOL,), choice="none"))
        if spoken is None:
            self._notes.note("tool_choice", "not_offered", refusal(heard))
        elif spoken.calls:
            self._notes.note("tool_choice", "wrong", "a call although tool_choice forbade it")
        heard, spoken = self._ask(Asked(words="Say: ready.", tools=(CITY_TOOL,), choice=CITY_TOOL.name))
        if spoken is None:
            self._notes.note("tool_choice", "not_offered", refusal(heard))
        elif not spoken.calls:
            self._notes.note("tool_choice", "wrong", f"no call although tool_choice named the tool: {spoken.text!r}")
        else:
            self._notes.note("tool_choice", "ok", "forbidden and forced calls are as asked")
            self._notes.calls(spoken.calls)

    def several(self) -> None:
        """Several calls at once where that is the task, and one alone where that is asked for."""
        heard, spoken = self._ask(Asked(words=_BOTH, tools=(CITY_TOOL,)))
        if spoken is None:
            self._notes.note("parallel_calls", "not_offered", refusal(heard))
        else:
            count = len(spoken.calls)
            self._notes.note("parallel_calls", "ok" if count > 1 else "not_offered", f"{count} of 2 calls in one reply")
            self._notes.calls(spoken.calls)
        heard, spoken = self._ask(Asked(words=_BOTH, tools=(CITY_TOOL,), one_call=True))
        if spoken is None:
            self._notes.note("one_call_on_request", "not_offered", refusal(heard))
        else:
            count = len(spoken.calls)
            self._notes.note("one_call_on_request", "wrong" if count > 1 else "ok", f"{count} calls in one reply")

    def history(self) -> None:
        """Whether a conversation with a call in it, its content null, is taken back, and the result is read."""
        asked = Asked(words=_TELL, tools=(CITY_TOOL,))
        heard, spoken = self._ask(asked)
        if spoken is None or not spoken.calls:
            return
        if not all(isinstance(call.name, str) and isinstance(call.arguments, str) for call in spoken.calls):
            return  # its own calls cannot be repeated to it as they came
        request = request_for(self._model, asked)
        heard, spoken = self._send(follow_up(request, spoken, f'{{"code_word": "{_CODE_WORD}"}}'))
        if spoken is None:
            self._notes.note("history", "wrong", refusal(heard))
        elif _CODE_WORD in spoken.text.lower():
            self._notes.note("history", "ok", "the result of a call was read")
        else:
            said = f"it called again ({len(spoken.calls)})" if spoken.calls else f"it said {spoken.text!r}"
            self._notes.note("history", "wrong", f"the result of a call was not told: {said}")

    def strict(self) -> None:
        """Whether a tool may be marked strict."""
        heard, spoken = self._ask(Asked(words=_PARIS, tools=(STRICT_TOOL,)))
        if spoken is None:
            self._notes.note("strict", "not_offered", refusal(heard))
        elif spoken.calls:
            self._notes.note("strict", "ok", "a strict tool was called")
        else:
            self._notes.note("strict", "wrong", f"a strict tool was not called: {spoken.text!r}")

    def form(self) -> None:
        """Whether an answer keeps to a schema; the words alone would never make it be of that form."""
        heard, spoken = self._ask(Asked(words="Is Paris a city in France? Tell me why, in one sentence.", schema=_FORM))
        if spoken is None:
            self._notes.note("structured_output", "not_offered", refusal(heard))
        else:
            outcome: Outcome = "ok" if _keeps_form(spoken.text) else "wrong"
            self._notes.note("structured_output", outcome, spoken.text or "no text")

    def picture(self) -> None:
        """Whether the model sees a picture, made here, whose colours only its pixels tell."""
        heard, spoken = self._ask(Asked(words=_COLOURS, image=two_colours()))
        if spoken is None:
            self._notes.note("images", "not_offered", refusal(heard))
        else:
            said = spoken.text.lower()
            left, right = said.find(LEFT_COLOUR), said.find(RIGHT_COLOUR)
            self._notes.note("images", "ok" if 0 <= left < right else "wrong", f"it saw {spoken.text!r}")

    def embedding(self) -> None:
        """Whether the endpoint has embeddings; chat models seldom serve them, so that a refusal says little."""
        body: Json = {"model": self._model, "input": ["a red car"], "encoding_format": "float"}
        heard = self._asker.embed(body)
        items = heard.body.get("data") if heard.answered and heard.body else None
        first = items[0] if isinstance(items, list) and items else None
        vector = first.get("embedding") if isinstance(first, dict) else None
        if isinstance(vector, list) and vector and all(isinstance(number, int | float) for number in vector):
            self._notes.note("embeddings", "ok", f"{len(vector)} numbers")
        else:
            self._notes.note("embeddings", "not_offered", refusal(heard))

    def _ask(self, asked: Asked) -> tuple[Heard, Spoken | None]:
        return self._send(request_for(self._model, asked))

    def _send(self, request: Json) -> tuple[Heard, Spoken | None]:
        heard = self._asker.ask(self._wire, request)
        spoken = spoken_on(self._wire, heard)
        self._notes.spend(request, heard, spoken)
        return heard, spoken


def _keeps_form(text: str) -> bool:
    import jsonschema

    try:
        return jsonschema.Draft202012Validator(_FORM).is_valid(parse_json(text))
    except ValueError:
        return False
