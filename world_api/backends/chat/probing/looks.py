"""The small questions of a probe, each with what its answer says about the server."""

from __future__ import annotations

from world_api.backends.chat.probing.asking import Asker, Heard
from world_api.backends.chat.probing.capabilities import Wire
from world_api.backends.chat.probing.notes import Notes, is_call_in_text, refusal
from world_api.backends.chat.probing.wires import CHAT, RESPONSES, Asked, Spoken, Tool, spoken_in

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
ONE_CALL = Asked(words="Use the tool to look up the code word of the city Paris.", tools=(CITY_TOOL,))


class Looks:
    """Asks one model on one wire, and notes what is seen."""

    def __init__(self, asker: Asker, model: str, wire: Wire, notes: Notes) -> None:
        self._asker, self._model, self._notes = asker, model, notes
        self._speech = CHAT if wire == "chat" else RESPONSES

    def first(self) -> Heard:
        """One call of one tool: whether tools reach the model, and in what form its calls come."""
        heard, spoken = self._ask(ONE_CALL)
        if spoken is None:
            if heard.status in (400, 422) and "responses" not in heard.told.lower():
                self._notes.note("tools", "not_offered", refusal(heard))
        elif not spoken.calls:
            in_text = is_call_in_text(spoken.text)
            seen = "a call written as text" if in_text else "the tool was taken and not called"
            self._notes.note("tools", "wrong", f"{seen}: {spoken.text!r}")
        else:
            known = all(call.name == CITY_TOOL.name for call in spoken.calls)
            seen = f"called {', '.join(str(call.name) for call in spoken.calls)}"
            self._notes.note("tools", "ok" if known else "wrong", seen)
            self._notes.calls(spoken.calls)
        return heard

    def all(self) -> None:
        """Everything else."""

    def _ask(self, asked: Asked) -> tuple[Heard, Spoken | None]:
        request = self._speech.request(self._model, asked)
        heard = self._asker.ask(self._speech.route, request)
        spoken = spoken_in(self._speech, heard)
        self._notes.spend(request, heard, spoken)
        return heard, spoken
