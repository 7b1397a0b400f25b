"""Which tool of a reply is which tool of the draw, and what is odd about a reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tool_induction.inducing.asking.requests import Answer, Note
from tool_induction.inducing.drafts import Slot
from tool_induction.inducing.reading import WrittenTool, WrittenTools


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
