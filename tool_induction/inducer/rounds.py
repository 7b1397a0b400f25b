"""The rounds of an induction: one generation, then a few repair rounds in which the failing tools go back to the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tool_induction import limits
from tool_induction.admission import ExampleWorld
from tool_induction.compiler.declarations import signature_card
from tool_induction.compiler.source import holds_secret, without_secrets
from tool_induction.domains import Domain
from tool_induction.inducer.drafts import Draft, Slot, Status
from tool_induction.inducer.emissions import WrittenTool, WrittenTools, read_tools
from tool_induction.inducer.prompt_builder import FailingTool, InducerPrompts
from tool_induction.inducer.requests import Answer, Note, Requester, Settings
from world_api.core.faults import ToolFault

MAX_REPAIRS = 3
_MAX_SPACED = 6_000  #: characters of a failing tool that go back with their white space; a longer one goes without it
_MAX_UNREADABLE = 30_000  #: characters that go back of a text that is no JSON

#: all_usable: no tool fails; repeats: a round changed nothing; rounds_used: the last repair round is over;
#: no_reply: a repair round brought no tool; no_model: a document was given and no model was named
Ending = Literal["all_usable", "repeats", "rounds_used", "no_reply", "no_model"]
RoundKind = Literal["document", "generation", "repair"]


@dataclass(frozen=True, kw_only=True)
class Round:
    """One emission and its outcome."""

    number: int
    kind: RoundKind
    requested: tuple[str, ...]  #: names of the tools that went back
    answer: Answer | None  #: None for a given document
    text: str
    written: WrittenTools
    slots: tuple[int | None, ...]  #: the slot of each tool of ``written``; None for a tool that is left aside
    notes: tuple[Note, ...]
    counts: dict[Status, int]  #: tools by status after the round


@dataclass(frozen=True, kw_only=True)
class Induction:
    """The rounds of an induction and its final draft. ``requested``: tools the model was asked for; 0 for a given document."""

    draft: Draft
    rounds: tuple[Round, ...]
    ending: Ending
    requested: int

    @property
    def mode_used(self) -> str:
        """The mode of the first answered request, after fallbacks; empty if no model was asked."""
        return next((item.answer.mode for item in self.rounds if item.answer is not None), "")

    def yields(self) -> dict[str, int]:
        """Count tools: requested, written first, compiled and admitted at first and in the end."""
        first, last = self.rounds[0].counts, self.rounds[-1].counts
        return {
            "asked": self.requested,
            "written": len(self.rounds[0].written.tools),
            "compiled_first": first["admitted"] + first["duplicate"] + first["refused"],
            "admitted_first": first["admitted"],
            "compiled": last["admitted"] + last["duplicate"] + last["refused"],
            "admitted": last["admitted"],
            "duplicates": last["duplicate"],
        }


def induce(
    domain: Domain,
    settings: Settings,
    *,
    requester: Requester | None,
    count: int = 9,
    repairs: int = MAX_REPAIRS,
    worlds: Callable[[], tuple[ExampleWorld, ...]] = tuple,
    document: str | None = None,
    prompts: InducerPrompts | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Induction:
    """Draw a library's tools and have their faults repaired.

    Args:
        domain: What the tools are for.
        settings: Settings of the requests; ``seed`` orders the prompt.
        requester: The model; None if a ``document`` is taken as it is.
        count: Tools to ask for.
        repairs: Repair rounds at most.
        worlds: Opens the example worlds that tools are tried on beside the made ones.
        document: A first emission that is there already; the model is then asked for repairs alone.
        prompts: By default those for the settings.
        progress: Gets a line of text for every event.

    Raises:
        ToolFault: ``no_tools``: the first emission holds none; ``no_model``.
        BackendFault: the model's.
    """
    prompts = prompts or InducerPrompts(groups=settings.groups, allow_judge=settings.allow_judge)
    if document is None and requester is None:
        raise ToolFault("no_model", "neither a model nor a document is given", hint="give --model or --document")
    rounds = _Rounds(domain, prompts, progress)
    answer = None
    if document is None and requester is not None:
        progress(f"asking for {count} tools ...")
        request = prompts.request(domain, count=count, seed=settings.seed)
        answer = requester.send(prompts.system, lambda _: request)
    draft = rounds.first(answer, document or "", count, lambda tools: Draft(tools, domain, settings, worlds))
    seen = set()
    ending: Ending = "rounds_used"
    for number in range(1, repairs + 1):
        if not draft.failing():
            break
        if requester is None:
            ending = "no_model"
            break
        if draft.state() in seen:
            ending = "repeats"
            break
        seen.add(draft.state())
        if not rounds.repair(draft, number, requester):
            ending = "no_reply"
            break
    if not draft.failing():
        ending = "all_usable"
    elif ending == "rounds_used" and draft.state() in seen:
        ending = "repeats"
    return Induction(draft=draft, rounds=tuple(rounds.done), ending=ending, requested=count if document is None else 0)


class _Rounds:
    """Makes rounds and records them."""

    def __init__(self, domain: Domain, prompts: InducerPrompts, progress: Callable[[str], None]) -> None:
        self._domain = domain
        self._prompts = prompts
        self._progress = progress
        self.done: list[Round] = []

    def first(
        self, answer: Answer | None, document: str, count: int, draft_of: Callable[[list[WrittenTool]], Draft]
    ) -> Draft:
        """Read the first emission, from the model or a document, and make the draft of its tools."""
        text = document if answer is None else answer.text
        written = read_tools(text, strict_form=answer is not None and answer.mode == "strict")
        notes = [*(() if answer is None else answer.notes), *_reading_notes(written, answer)]
        if not written.tools:
            found = "; ".join(note.redacted().message for note in notes)
            raise ToolFault(
                "no_tools",
                f"the first emission holds no tool: {found}",
                hint="the recording keeps the reply; another --seed is another draw"
                if answer is not None
                else "give a file that holds tools as JSON; `videoworld tools language` shows the form",
            )
        found_count = len(written.tools)
        if found_count > limits.MAX_TOOLS:
            message = f"{found_count} tools were written; those after the first {limits.MAX_TOOLS} are left aside"
            notes.append(Note(problem="too_many_tools", message=message))
        if answer is not None and found_count != count:
            message = f"{found_count} tools were written, {count} were asked for"
            notes.append(Note(problem="fewer_tools" if found_count < count else "more_tools", message=message))
        draft = draft_of(written.tools)
        slots = [place if place < len(draft.slots) else None for place in range(found_count)]
        self._record("document" if answer is None else "generation", draft, answer, text, written, slots, notes)
        return draft

    def repair(self, draft: Draft, number: int, requester: Requester) -> bool:
        """Make one repair round; return whether it brought any tool."""
        failing = draft.failing()
        accepted = (slot for slot in draft.slots if not slot.current.fails)
        usable = [signature_card(draft.tools[slot.current.name]).splitlines()[0] for slot in accepted]
        self._progress(f"repair {number}: {len(failing)} of {len(draft.slots)} tools go back with their faults ...")
        tools = [_failing_tool(slot) for slot in failing]
        answer = requester.send(
            self._prompts.system, lambda mode: self._prompts.repair(self._domain, tools, usable=usable, mode=mode)
        )
        written = read_tools(answer.text, strict_form=answer.mode == "strict")
        assigned, notes = _assign(written.tools, failing, draft.slots)
        rewritten = {slot: item for item, slot in zip(written.tools, assigned, strict=True) if slot is not None}
        retired = _retired(rewritten, failing)
        names = {slot.name for slot in retired}
        notes = [note for note in notes if note.problem != "not_rewritten" or note.tool not in names]
        message = "two tools had this name and one came back; the other is given up"
        notes += [Note(problem="retired", tool=slot.name, message=message) for slot in retired]
        draft.retire(retired)
        for slot in draft.replace(rewritten, round_number=number) if rewritten else ():
            message = f"the new version is no better ({slot.versions[-1].reason()}); the one before is kept"
            notes.append(Note(problem="not_better", tool=slot.name, message=message))
        notes = [*answer.notes, *_reading_notes(written, answer), *notes]
        self._record("repair", draft, answer, answer.text, written, assigned, notes, [item.name for item in tools])
        return bool(rewritten)

    def _record(
        self,
        kind: RoundKind,
        draft: Draft,
        answer: Answer | None,
        text: str,
        written: WrittenTools,
        slots: Sequence[int | None],
        notes: Sequence[Note],
        requested: Sequence[str] = (),
    ) -> None:
        if holds_secret(text):
            message = "it holds what looks like a credential; only the recording has that as it came"
            notes = [*notes, Note(problem="secret_in_reply", message=message)]
        counts: dict[Status, int] = dict.fromkeys(("admitted", "duplicate", "refused", "faulty", "unreadable"), 0)
        for slot in draft.slots:
            counts[slot.current.status] += 1
        done = Round(
            number=len(self.done),
            kind=kind,
            requested=tuple(requested),
            answer=answer,
            text=text,
            written=written,
            slots=tuple(slots),
            notes=tuple(note.redacted() for note in notes),
            counts=counts,
        )
        self.done.append(done)
        now = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        usage = (
            ""
            if answer is None
            else f" ({answer.usage.prompt} + {answer.usage.completion} tokens, {answer.seconds:.0f} s)"
        )
        self._progress(f"  {len(written.tools)} tools came{usage}; now {now}")
        for note in done.notes:
            self._progress(f"  {note.problem}{f' ({note.tool})' if note.tool else ''}: {note.message}")


def _failing_tool(slot: Slot) -> FailingTool:
    written = slot.current.written
    # Faults name places of the document, so a tool that was written in another form goes back as that document.
    text = json.dumps(written.value, indent=1, ensure_ascii=False) if written.converted else written.text
    if written.value is not None and len(text) > _MAX_SPACED:
        text = json.dumps(written.value, separators=(",", ":"), ensure_ascii=False)
    if written.value is None and len(text) > _MAX_UNREADABLE:
        more = f"({len(text) - _MAX_UNREADABLE} characters more; write it again, shorter)"
        text = f"{text[:_MAX_UNREADABLE]}\n... {more}"
    return FailingTool(
        name=" ".join(slot.name.split())[:80],
        text=without_secrets(text),
        faults=tuple(without_secrets(item.line()) for item in slot.current.faults()),
    )


def _reading_notes(written: WrittenTools, answer: Answer | None) -> list[Note]:
    """Return notes on the JSON of a reply."""
    notes = [
        Note(problem="unreadable_tool", tool=item.name, message=item.fault) for item in written.tools if item.fault
    ]
    for part in written.left_out:
        if part.why == "repeat":
            message = "it is in the reply more than once; the last one that can be read is taken"
            notes.append(Note(problem="repeated", tool=", ".join(part.tools), message=message))
        elif part.why == "reasoning":
            drafts = f"; the {len(part.tools)} tools in them are drafts and are left aside" if part.tools else ""
            message = f"{len(part.text)} characters of the reply are reasoning{drafts}"
            notes.append(Note(problem="reasoning_in_reply", message=message))
    if answer is not None and answer.text.strip() and not written.is_pure:
        prose = [item for item in written.left_out if not item.why and not item.is_wrapping]
        if answer.mode != "plain":
            message = "the reply is not the one JSON value that was asked for"
            notes.append(Note(problem="structured_ignored", message=message))
        elif prose:
            size = sum(len(item.text) for item in prose)
            notes.append(Note(problem="prose_around", message=f"{size} characters of the reply belong to no tool"))
    if not written.tools:
        notes.append(Note(problem="no_tools", message="the reply holds no tool"))
    return notes


def _retired(rewritten: Mapping[int, WrittenTool], failing: Sequence[Slot]) -> list[Slot]:
    """Return the slots that did not come back and whose one fault is a name that they share with one that did.

    The model wrote a tool twice and repaired it once: it is one tool.
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


def _assign(
    tools: Sequence[WrittenTool], failing: Sequence[Slot], slots: Sequence[Slot]
) -> tuple[list[int | None], list[Note]]:
    """Return the slot number of each rewritten tool, and notes.

    A tool goes to the failing slot of its name. If as many new names as slots remain, they are matched in their order.
    """
    waiting = {slot.number: slot for slot in failing}
    assigned: list[int | None] = []
    for item in tools:
        own = next((number for number, slot in waiting.items() if slot.current.name == item.name), None)
        assigned.append(own)
        if own is not None:
            del waiting[own]
    notes: list[Note] = []
    taken = {slot.current.name for slot in slots}
    unknown = [place for place, given in enumerate(assigned) if given is None and tools[place].name not in taken]
    if len(unknown) == len(waiting):
        for place, (number, slot) in zip(unknown, list(waiting.items()), strict=True):
            assigned[place] = number
            del waiting[number]
            message = f"{slot.name!r} came back as {tools[place].name!r}"
            notes.append(Note(problem="renamed", tool=tools[place].name, message=message))
    for item, given in zip(tools, assigned, strict=True):
        if given is None:
            message = "this tool was not asked for; it is left aside"
            notes.append(Note(problem="unasked", tool=item.name, message=message))
    message = "this tool did not come back; it stays as it was"
    notes += [Note(problem="not_rewritten", tool=slot.name, message=message) for slot in waiting.values()]
    return assigned, notes
