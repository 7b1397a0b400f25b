"""An induction: one generation, a few repair rounds that hand back the failing tools alone, and what came of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tool_induction.compiler.emit import signature_card
from tool_induction.documents.credentials import holds_secret, without_secrets
from tool_induction.domains import Domain
from tool_induction.inducer.drafts import Draft, Slot, Trying
from tool_induction.inducer.emissions import WrittenTool, WrittenTools, read_tools
from tool_induction.inducer.prompt_builder import FailingTool, InducerPrompts
from tool_induction.inducer.requests import Answer, Asker, Note
from tool_induction.language import limits
from world_api.core.faults import ToolFault

MAX_REPAIRS = 3
MAX_SPACED = (
    6_000  #: characters of one failing tool that are handed back as they stand; a longer one without its spaces
)
MAX_UNREADABLE = 30_000  #: characters that are handed back of a text that is no JSON; who wrote more must write it anew

#: all_usable: nothing is left to mend; repeats: a round changed nothing; rounds_used: the last repair round is over;
#: no_reply: a repair round brought no tool; no_model: a document was brought and no model was named
Ending = Literal["all_usable", "repeats", "rounds_used", "no_reply", "no_model"]
RoundKind = Literal["document", "generation", "repair"]


@dataclass(frozen=True, kw_only=True)
class Round:
    """One emission: what was asked, what came, and what was made of it."""

    number: int
    kind: RoundKind
    asked_for: tuple[str, ...]
    answer: Answer | None  #: none of a document that somebody brought
    text: str
    written: WrittenTools
    #: the slot that each tool of ``written`` went to; none where it went nowhere
    slots: tuple[int | None, ...]
    notes: tuple[Note, ...]
    #: how many tools stood how after the round
    standings: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Induction:
    """What came of an induction."""

    draft: Draft
    rounds: tuple[Round, ...]
    ending: Ending
    asked: int  #: how many tools the model was asked for; 0 where they were brought

    @property
    def admitted(self) -> tuple[str, ...]:
        """The tools of the library."""
        return self.draft.examined.admission.admitted

    @property
    def unpruned(self) -> tuple[str, ...]:
        """The tools of the library where duplicates are not dropped."""
        return self.draft.examined.admission.unpruned

    @property
    def mode_used(self) -> str:
        """How the model was asked in the end of its first request, after fall-backs; empty where it was not."""
        return next((item.answer.mode for item in self.rounds if item.answer is not None), "")

    def yields(self) -> dict[str, int]:
        """How many tools were asked for, written in the first emission, compiled and admitted, at first and in the end."""
        first, last = self.rounds[0].standings, self.rounds[-1].standings
        return {
            "asked": self.asked,
            "written": len(self.rounds[0].written.tools),
            "compiled_first": _compiled(first),
            "admitted_first": first["admitted"],
            "compiled": _compiled(last),
            "admitted": last["admitted"],
            "duplicates": last["duplicate"],
        }


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What an induction is asked for."""

    domain: Domain
    count: int
    seed: int
    repairs: int = MAX_REPAIRS


def induce(
    plan: Plan,
    *,
    prompts: InducerPrompts,
    asker: Asker | None,
    trying: Trying,
    document: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Induction:
    """Draw a library's tools and have their faults mended.

    Args:
        plan: What is asked for.
        prompts: The words.
        asker: The model; none where a ``document`` is to be taken as it is.
        trying: What the tools are tried on.
        document: A first emission that is already there; the model is then asked for repairs alone.
        tell: Is told how it goes, a line at a time.

    Raises:
        ToolFault: ``no_tools``, when the first emission holds none.
        BackendFault: the model's.
    """
    return _Induction(plan, prompts, asker, trying, tell).run(document)


class _Induction:
    def __init__(
        self,
        plan: Plan,
        prompts: InducerPrompts,
        asker: Asker | None,
        trying: Trying,
        tell: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._prompts = prompts
        self._asker = asker
        self._trying = trying
        self._tell = tell
        self._rounds: list[Round] = []

    def run(self, document: str | None) -> Induction:
        draft = self._first(document)
        seen = set()
        ending: Ending = "rounds_used"
        for number in range(1, self._plan.repairs + 1):
            if not draft.failing():
                break
            if self._asker is None:
                ending = "no_model"
                break
            if draft.state() in seen:
                ending = "repeats"
                break
            seen.add(draft.state())
            if not self._repair(draft, number, self._asker):
                ending = "no_reply"
                break
        if not draft.failing():
            ending = "all_usable"
        elif ending == "rounds_used" and draft.state() in seen:
            ending = "repeats"
        asked = self._plan.count if document is None else 0
        return Induction(draft=draft, rounds=tuple(self._rounds), ending=ending, asked=asked)

    def _first(self, document: str | None) -> Draft:
        answer = None
        if document is None:
            if self._asker is None:
                raise ToolFault(
                    "no_model", "neither a model nor a document is given", hint="give --model or --document"
                )
            self._tell(f"asking for {self._plan.count} tools ...")
            request = self._prompts.request(self._plan.domain, count=self._plan.count, seed=self._plan.seed)
            answer = self._asker.ask(self._prompts.system, lambda _: request)
        text = answer.text if answer is not None else document or ""
        written = read_tools(text, strict_form=answer is not None and answer.mode == "strict")
        notes = [*(answer.notes if answer is not None else ()), *notes_of(written, answer)]
        if not written.tools:
            told = "; ".join(note.blotted().message for note in notes)
            raise ToolFault(
                "no_tools",
                f"the first emission holds no tool: {told}",
                hint="the recording keeps what was said; another --seed is another draw"
                if answer is not None
                else "give a file that holds tools as JSON; `videoworld tools language` shows the form",
            )
        notes.extend(self._count_notes(written, answer))
        draft = Draft(written.tools, self._trying)
        kept = len(draft.slots)
        slots = tuple(place if place < kept else None for place in range(len(written.tools)))
        self._done("document" if answer is None else "generation", draft, answer, text, written, slots, notes)
        return draft

    def _count_notes(self, written: WrittenTools, answer: Answer | None) -> list[Note]:
        found, wanted = len(written.tools), self._plan.count
        notes = []
        if found > limits.MAX_TOOLS:
            message = f"{found} tools were written; those after the first {limits.MAX_TOOLS} are left aside"
            notes.append(Note(problem="too_many_tools", message=message))
        if answer is not None and found != wanted:
            problem: Literal["fewer_tools", "more_tools"] = "fewer_tools" if found < wanted else "more_tools"
            notes.append(Note(problem=problem, message=f"{found} tools were written, {wanted} were asked for"))
        return notes

    def _repair(self, draft: Draft, number: int, asker: Asker) -> bool:
        """One repair round; whether it brought any tool."""
        failing = draft.failing()
        accepted = (slot for slot in draft.slots if not slot.current.fails)
        usable = [signature_card(draft.examined.tools[slot.current.name]).splitlines()[0] for slot in accepted]
        self._tell(
            f"repair {number}: {len(failing)} of {len(draft.slots)} tools go back with what is wrong with them ..."
        )
        tools = [_handed_back(slot) for slot in failing]
        answer = asker.ask(
            self._prompts.system,
            lambda mode: self._prompts.repair(self._plan.domain, tools, usable=usable, mode=mode),
        )
        written = read_tools(answer.text, strict_form=answer.mode == "strict")
        assigned, notes = assigned_to(written.tools, failing, draft.slots)
        notes = [*answer.notes, *notes_of(written, answer), *notes]
        rewritten = {slot: item for item, slot in zip(written.tools, assigned, strict=True) if slot is not None}
        retired = retired_by(rewritten, failing)
        for slot in retired:
            notes = [note for note in notes if (note.problem, note.tool) != ("not_rewritten", slot.name)]
            message = "two tools had this name and one came back; the other is given up"
            notes.append(Note(problem="retired", tool=slot.name, message=message))
        draft.retire(retired)
        for slot in draft.replace(rewritten, round_number=number) if rewritten else ():
            message = f"the new version is no better ({slot.versions[-1].reason()}); the one before is kept"
            notes.append(Note(problem="not_better", tool=slot.name, message=message))
        self._done(
            "repair", draft, answer, answer.text, written, assigned, notes, asked_for=[item.name for item in tools]
        )
        return bool(rewritten)

    def _done(
        self,
        kind: RoundKind,
        draft: Draft,
        answer: Answer | None,
        text: str,
        written: WrittenTools,
        slots: Sequence[int | None],
        notes: Sequence[Note],
        *,
        asked_for: Sequence[str] = (),
    ) -> None:
        if holds_secret(text):
            message = "it holds what looks like a credential; only the recording has that as it came"
            notes = [*notes, Note(problem="secret_in_reply", message=message)]
        notes = [note.blotted() for note in notes]
        standings = dict.fromkeys(("admitted", "duplicate", "refused", "faulty", "unreadable"), 0)
        for slot in draft.slots:
            standings[slot.current.standing] += 1
        done = Round(
            number=len(self._rounds),
            kind=kind,
            asked_for=tuple(asked_for),
            answer=answer,
            text=text,
            written=written,
            slots=tuple(slots),
            notes=tuple(notes),
            standings=standings,
        )
        self._rounds.append(done)
        told = ", ".join(f"{count} {name}" for name, count in standings.items() if count)
        price = (
            ""
            if answer is None
            else f" ({answer.usage.prompt} + {answer.usage.completion} tokens, {answer.seconds:.0f} s)"
        )
        self._tell(f"  {len(written.tools)} tools came{price}; now {told}")
        for note in notes:
            self._tell(f"  {note.problem}{f' ({note.tool})' if note.tool else ''}: {note.message}")


def _compiled(standings: dict[str, int]) -> int:
    return sum(standings[name] for name in ("admitted", "duplicate", "refused"))


def _handed_back(slot: Slot) -> FailingTool:
    written = slot.current.written
    # Faults are told at the places of the document; what was written in another form is handed back as that document.
    text = json.dumps(written.value, indent=1, ensure_ascii=False) if written.converted else written.text
    if written.value is not None and len(text) > MAX_SPACED:
        text = json.dumps(written.value, separators=(",", ":"), ensure_ascii=False)
    if written.value is None and len(text) > MAX_UNREADABLE:
        text = f"{text[:MAX_UNREADABLE]}\n... ({len(text) - MAX_UNREADABLE} characters more; write it anew and shorter)"
    return FailingTool(
        name=" ".join(slot.name.split())[:80],
        text=without_secrets(text),
        faults=tuple(without_secrets(item.line()) for item in slot.current.faults()),
    )


def notes_of(written: WrittenTools, answer: Answer | None) -> list[Note]:
    """What is odd about the JSON of a reply."""
    notes = [
        Note(problem="unreadable_tool", tool=item.name, message=item.fault) for item in written.tools if item.fault
    ]
    for part in written.left_out:
        if part.why == "repeat":
            message = "it stands more than once in the reply; the last one that can be read is taken"
            notes.append(Note(problem="repeated", tool=", ".join(part.tools), message=message))
        elif part.why == "reasoning":
            drafts = f"; the {len(part.tools)} tools in them are drafts and are left aside" if part.tools else ""
            message = f"{len(part.text)} characters of the reply are reasoning{drafts}"
            notes.append(Note(problem="reasoning_in_reply", message=message))
    if answer is not None and answer.text.strip() and not written.is_pure:
        if answer.mode != "plain":
            notes.append(
                Note(problem="structured_ignored", message="the reply is not the one JSON value that was asked for")
            )
        elif prose := [item for item in written.left_out if not item.why and not item.is_wrapping]:
            size = sum(len(item.text) for item in prose)
            notes.append(Note(problem="prose_around", message=f"{size} characters of the reply belong to no tool"))
    if not written.tools:
        notes.append(Note(problem="no_tools", message="the reply holds no tool"))
    return notes


def retired_by(rewritten: Mapping[int, WrittenTool], failing: Sequence[Slot]) -> list[Slot]:
    """The slots that did not come back and whose one fault is the name that they share with one that did.

    The model wrote a tool twice and mended it once: there is one tool.
    """
    back = {slot.current.name for slot in failing if slot.number in rewritten}
    back &= {item.name for item in rewritten.values()}
    return [
        slot
        for slot in failing
        if slot.number not in rewritten
        and slot.current.name in back
        and {fault.code for fault in slot.current.faults()} == {"E_NAME"}
    ]


def assigned_to(
    tools: Sequence[WrittenTool], failing: Sequence[Slot], slots: Sequence[Slot]
) -> tuple[list[int | None], list[Note]]:
    """The slot each rewritten tool goes to: by its name, else, where one is left of either, by being the one that is left."""
    waiting = {slot.number: slot for slot in failing}
    assigned: list[int | None] = []
    for item in tools:
        own = next((number for number, slot in waiting.items() if slot.current.name == item.name), None)
        assigned.append(own)
        if own is not None:
            del waiting[own]
    notes: list[Note] = []
    loose = [place for place, number in enumerate(assigned) if number is None]
    taken = {slot.current.name for slot in slots}
    strangers = [place for place in loose if tools[place].name not in taken]
    if len(strangers) == len(waiting):  # each of them can only be one of those that are missing, in their order
        for place, (number, slot) in zip(strangers, list(waiting.items()), strict=True):
            assigned[place] = number
            del waiting[number]
            message = f"{slot.name!r} came back as {tools[place].name!r}"
            notes.append(Note(problem="renamed", tool=tools[place].name, message=message))
    for place, given in enumerate(assigned):
        if given is None:
            message = "this tool was not asked for; it is left aside"
            notes.append(Note(problem="unasked", tool=tools[place].name, message=message))
    for slot in waiting.values():
        notes.append(
            Note(problem="not_rewritten", tool=slot.name, message="this tool did not come back; it stays as it was")
        )
    return assigned, notes
