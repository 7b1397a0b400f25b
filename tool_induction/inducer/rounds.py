"""The rounds of an induction: one generation, then a few repair rounds in which the failing tools go back to the model.

A tool has a version for each round in which it was written; the best version counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Literal, get_args

from tool_induction import limits
from tool_induction.admission import STAGED, Admission, ExampleWorld, Reason, Verdict, admit
from tool_induction.compiler.compilation import Compilation, CompiledTool, compile_document
from tool_induction.compiler.declarations import signature_card
from tool_induction.compiler.source import holds_secret, without_secrets
from tool_induction.domains import Domain
from tool_induction.inducer.emissions import WrittenTool, WrittenTools, read_tools
from tool_induction.inducer.prompt_builder import FailingTool, InducerPrompts, ReviewedRun
from tool_induction.inducer.requests import ModelReply, Note, Problem, Requester, Settings
from tool_induction.language.diagnostics import Code, Diagnostic, format_path
from world_api.core.faults import ToolFault

#: unreadable: no JSON; faulty: does not compile; refused: not admitted; duplicate: admissible, but another tool does the same
Status = Literal["unreadable", "faulty", "refused", "duplicate", "admitted"]
_RANK: dict[Status, int] = {"unreadable": 0, "faulty": 1, "refused": 2, "duplicate": 3, "admitted": 3}
#: The compiler's checks after that of the shape (all codes that are not listed), in the order in which they depend on each other:
#: called names, parameters and expressions, bound names, types, bounds. A fault in an earlier one hides others.
_CHECKS: tuple[tuple[Code, ...], ...] = (
    ("E_UNKNOWN_API", "E_OPERATION_OFF", "E_UNKNOWN_TOOL", "E_UNKNOWN_AGGREGATE"),
    ("E_UNKNOWN_PARAM", "E_MISSING_PARAM", "E_EXPR_SYNTAX", "E_EXPR_FORBIDDEN", "E_EXPR_SIZE"),
    ("E_UNDEFINED", "E_FORWARD", "E_REDEFINED", "E_ITEM_OUTSIDE_LOOP"),
    ("E_TYPE", "E_OPTIONAL", "E_OUTPUT_UNBOUND", "E_BRANCH_MISMATCH"),
    ("E_CYCLE", "E_UNBOUNDED", "E_BUDGET"),
)
_CHECK_OF = {code: place for place, codes in enumerate(_CHECKS, start=1) for code in codes}
#: Reasons of admission in the order of its rules: a tool that is refused for a later one passed the rules before it.
_RULES: dict[Reason, int] = {
    reason: place for place, reason in enumerate(get_args(Reason)) if reason not in ("admitted", "duplicate")
}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of a tool: the compiler's code or admission's reason, the path from the tool's root, and a suggestion."""

    code: str
    path: str
    message: str
    suggestion: str = ""

    def line(self) -> str:
        """Return the fault as one line of the repair prompt."""
        text = f"{self.code} at {self.path}: {self.message.rstrip('.')}."
        return f"{text} Suggestion: {self.suggestion}" if self.suggestion else text


@dataclass(frozen=True, kw_only=True)
class Version:
    """A tool as written in one round (0: the first reply or the document), with the findings of compiler and admission."""

    round: int
    written: WrittenTool
    status: Status = "unreadable"
    diagnostics: tuple[Diagnostic, ...] = ()
    verdict: Verdict | None = None

    @property
    def fails(self) -> bool:
        """Whether the tool cannot be used. A duplicate does not fail: it works like another tool."""
        return self.status in ("unreadable", "faulty", "refused")

    @property
    def returns(self) -> bool:
        """Whether the tool goes back to the model: it fails, or it is admitted with warnings."""
        return self.fails or (self.status == "admitted" and bool(self.faults()))

    def progress(self) -> tuple[int, ...]:
        """Return a sort key; a better version has a greater one: status; then faults, or the reason of the refusal and failed runs.

        Better is a version with fewer faults in the compiler's first check in which two differ; or refused by a later rule; or
        admitted with fewer warnings.
        """
        if self.status == "faulty":  # faults that follow from another tool's do not count
            errors = (item for item in self.diagnostics if item.severity == "error" and not item.follows)
            found = Counter(_CHECK_OF.get(item.code, 0) for item in errors)
            return _RANK["faulty"], *(-found[place] for place in range(len(_CHECKS) + 1))
        if self.status == "refused" and self.verdict is not None:
            failed = sum(run.status == "error" for run in self.verdict.runs)
            return _RANK["refused"], _RULES.get(self.verdict.reason, 0), -failed
        return _RANK[self.status], -len(self.faults())

    def faults(self) -> tuple[Fault, ...]:
        """Return the faults that are sent to the model."""
        if self.status == "unreadable":
            return (Fault(code="E_JSON", path="$", message=self.written.fault),)
        if self.status == "faulty":
            found = tuple(
                Fault(code=item.code, path=format_path(item.path[2:]), message=item.message, suggestion=item.suggestion)
                for item in self.diagnostics
                if item.severity == "error"
            )
            return found or (Fault(code="E_SHAPE", path="$", message="the compiler cannot take this tool"),)
        if self.verdict is None or self.status == "duplicate":
            return ()
        if self.verdict.admitted:
            # That nothing was compared is no fault that a model could mend.
            weak = [one for one in self.verdict.weaknesses if one.code != "not_compared"]
            return tuple(Fault(code=one.code, path="$", message=one.message, suggestion=one.suggestion) for one in weak)
        message = f"refused when it was tried: {self.verdict.explanation}"
        return (Fault(code=self.verdict.reason, path="$", message=message, suggestion=self.verdict.suggestion),)

    def reason(self) -> str:
        """Return the codes of the faults, joined by commas; empty for a tool that does not go back."""
        return ", ".join(dict.fromkeys(item.code for item in self.faults()))


@dataclass(kw_only=True)
class Slot:
    """The versions of one tool, whose name may change between rounds; ``best``: index of the best version."""

    number: int
    versions: list[Version] = field(default_factory=list)
    best: int = 0

    @property
    def current(self) -> Version:
        """The best version."""
        return self.versions[self.best]

    @property
    def name(self) -> str:
        """The name of the current version for messages, with secrets redacted; ``(tool N)`` if it has none."""
        return without_secrets(self.current.written.name) or f"(tool {self.number + 1})"


class LibraryDraft:
    """The tools of an induction, a slot for each. After every change all are compiled and tried together, since tools may call tools.

    ``worlds`` opens the example worlds, once for each trial of all tools. ``tools`` and ``admission`` belong to the
    current versions; ``retired`` are slots of tools that were written twice, removed when the model returned only one
    of the two.
    """

    def __init__(
        self,
        written: Sequence[WrittenTool],
        domain: Domain,
        settings: Settings,
        worlds: Callable[[], tuple[ExampleWorld, ...]] = tuple,
    ) -> None:
        self._domain = domain
        self._settings = settings
        self._worlds = worlds
        self.slots = [
            Slot(number=number, versions=[Version(round=0, written=item)])
            for number, item in enumerate(written[: limits.MAX_TOOLS])
        ]
        self.retired: list[Slot] = []
        self.tools: Mapping[str, CompiledTool] = {}
        self.admission = Admission(verdicts=())
        self._examine_current()

    def failing(self) -> list[Slot]:
        """Return the slots whose tools cannot be used."""
        return [slot for slot in self.slots if slot.current.fails]

    def returning(self) -> list[Slot]:
        """Return the slots whose tools go back to the model: failing ones, and those admitted with warnings."""
        return [slot for slot in self.slots if slot.current.returns]

    def state(self) -> frozenset[tuple[int, Fault]]:
        """Return all faults with their slot numbers; if a round does not change this set, it achieved nothing."""
        return frozenset((slot.number, fault) for slot in self.returning() for fault in slot.current.faults())

    def replace(
        self, rewritten: Mapping[int, WrittenTool], *, round_number: int, is_review: bool = False
    ) -> list[Slot]:
        """Add new versions by slot number and use those that are better; return the slots where the new one is not.

        ``is_review``: a new version that is as good is used, too.
        """
        new = {number: Version(round=round_number, written=item) for number, item in rewritten.items()}
        versions = self._examine([new.get(slot.number, slot.current) for slot in self.slots])
        unchanged = []
        for slot, version in zip(self.slots, versions, strict=True):
            if slot.number not in rewritten:
                slot.versions[slot.best] = version
                continue
            slot.versions.append(version)
            now, before = version.progress(), slot.current.progress()
            if now > before or (is_review and now == before):
                slot.best = len(slot.versions) - 1
            else:
                unchanged.append(slot)
        if unchanged:
            self._examine_current()
        return unchanged

    def _examine_current(self) -> None:
        for slot, version in zip(self.slots, self._examine([slot.current for slot in self.slots]), strict=True):
            slot.versions[slot.best] = version

    def _examine(self, versions: Sequence[Version]) -> list[Version]:
        """Compile and try all tools together; set ``tools`` and ``admission``; return the versions with findings."""
        readable = [item.written.value for item in versions if item.written.value is not None]
        entities, settings = self._domain.entities, self._settings
        compilation = compile_document(
            {"tools": readable}, entities=entities.examples, groups=settings.groups, allow_judge=settings.allow_judge
        )
        self.tools = compilation.tools
        self.admission = admit(self.tools, examples=self._worlds(), entities=entities.examples, others=entities.others)
        places = count()
        return [
            Version(round=item.round, written=item.written)
            if item.written.value is None
            else _examined(item, next(places), compilation, self.admission)
            for item in versions
        ]


def _examined(version: Version, index: int, compilation: Compilation, admission: Admission) -> Version:
    """Return a version with its findings; ``index`` is its position in the compiled document."""
    own = tuple(item for item in compilation.diagnostics if item.path[:2] == ("tools", index))
    whole = tuple(item for item in compilation.diagnostics if item.severity == "error" and len(item.path) < 2)
    verdict = next((item for item in admission.verdicts if item.tool == compilation.names[index]), None)
    if whole or verdict is None or any(item.severity == "error" for item in own):
        return replace(version, status="faulty", diagnostics=(*whole, *own), verdict=None)
    status: Status = "admitted" if verdict.admitted else "duplicate" if verdict.reason == "duplicate" else "refused"
    return replace(version, status=status, diagnostics=own, verdict=verdict)


MAX_REPAIRS = 3
_MAX_SPACED = 6_000  #: characters of a failing tool that go back with their white space; a longer one goes without it
_MAX_UNREADABLE = 30_000  #: characters of a text that is not JSON that go back

#: all_usable: no tool fails; repeats: a round changed nothing; rounds_used: the last repair round is over;
#: no_reply: a repair round brought no tool; no_model: a document was given and no model was named
Ending = Literal["all_usable", "repeats", "rounds_used", "no_reply", "no_model"]
RoundKind = Literal["document", "generation", "repair", "review"]


@dataclass(frozen=True, kw_only=True)
class Round:
    """One reply of the model, or the given document, with the tools in it and the outcome."""

    number: int
    kind: RoundKind
    requested: tuple[str, ...]  #: names of the tools that went back
    answer: ModelReply | None  #: None for a given document
    text: str
    written: WrittenTools
    slots: tuple[int | None, ...]  #: the slot of each tool of ``written``; None for a tool that is ignored
    notes: tuple[Note, ...]
    counts: dict[Status, int]  #: tools by status after the round


@dataclass(frozen=True, kw_only=True)
class Review:
    """What a review started from: the text of the runs that the model was shown, and the tools and verdicts before it."""

    text: str
    tools: Mapping[str, CompiledTool]
    admission: Admission


@dataclass(frozen=True, kw_only=True)
class Induction:
    """The rounds of an induction and its final draft. ``requested``: number of tools requested, 0 for a document.

    ``review``: None if there was none.
    """

    draft: LibraryDraft
    rounds: tuple[Round, ...]
    ending: Ending
    requested: int
    review: Review | None = None

    @property
    def mode_used(self) -> str:
        """The mode of the first answered request, after fallbacks; empty if no request was answered."""
        return next((item.answer.mode for item in self.rounds if item.answer is not None), "")

    def yields(self) -> dict[str, int]:
        """Return numbers of tools ``asked``, ``written``, ``compiled``, ``admitted`` (these two also ``_first``), ``duplicates``."""
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
    review: bool = False,
    prompts: InducerPrompts | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Induction:
    """Request the tools of a library from a model, and let it repair those with faults.

    Args:
        domain: The domain that the tools are for.
        settings: Settings of the requests; ``seed`` determines the order of the parts of the prompt.
        requester: Sends the requests; None if a ``document`` is used without repairs.
        count: Number of tools to request.
        repairs: Maximum number of repair rounds.
        worlds: Opens the example worlds that tools are tried on besides the made-up ones.
        document: A text that replaces the first reply; the model is then used for repairs and the review only.
        review: Whether the model is shown, once, a run of each admitted tool with the truth.
        prompts: By default the prompts for the settings.
        progress: Called with a line of text for every event.

    Raises:
        ToolFault: ``no_tools``: the first reply or the document holds none; ``no_model``: neither requester nor document is given.
        BackendFault: the faults of the model.
    """
    prompts = prompts or InducerPrompts(groups=settings.groups, allow_judge=settings.allow_judge)
    answer = None
    if document is None:
        if requester is None:
            raise ToolFault("no_model", "neither a model nor a document is given", hint="give --model or --document")
        progress(f"asking for {count} tools ...")
        request = prompts.request(domain, count=count, seed=settings.seed)
        answer = requester.send(prompts.system, lambda _: request)
    written, notes = _first_tools(answer, document or "", count)
    draft = LibraryDraft(written.tools, domain, settings, worlds)
    rounds = _Rounds(draft, progress)
    places = [place if place < len(draft.slots) else None for place in range(len(written.tools))]
    rounds.record("document" if answer is None else "generation", answer, written, places, notes, text=document or "")
    ending = rounds.repair_all(domain, prompts, requester, repairs)
    reviewed = rounds.review(domain, prompts, requester) if review and requester is not None else None
    requested = count if document is None else 0
    return Induction(draft=draft, rounds=tuple(rounds.done), ending=ending, requested=requested, review=reviewed)


def _first_tools(answer: ModelReply | None, document: str, count: int) -> tuple[WrittenTools, list[Note]]:
    """Return the tools of the reply, or else the document, and notes (also on a wrong ``count``); raise ``no_tools`` if none."""
    text = document if answer is None else answer.text
    written = read_tools(text)
    notes = [*(() if answer is None else answer.notes), *_reading_notes(written, answer)]
    found = len(written.tools)
    if not found:
        hint = "the recording keeps the reply; another --seed is another draw"
        if answer is None:
            hint = "give a file that holds tools as JSON; `videoworld tools language` shows the form"
        what = "; ".join(note.redacted().message for note in notes)
        raise ToolFault("no_tools", f"the first emission holds no tool: {what}", hint=hint)
    if found > limits.MAX_TOOLS:
        aside = f"those after the first {limits.MAX_TOOLS} are left aside"
        notes.append(Note("too_many_tools", f"{found} tools were written; {aside}"))
    if answer is not None and found != count:
        problem: Problem = "fewer_tools" if found < count else "more_tools"
        notes.append(Note(problem, f"{found} tools were written, {count} were asked for"))
    return written, notes


class _Rounds:
    """Runs and records the rounds of one draft; ``done`` are the finished ones."""

    def __init__(self, draft: LibraryDraft, progress: Callable[[str], None]) -> None:
        self._draft = draft
        self._progress = progress
        self.done: list[Round] = []

    def repair_all(self, domain: Domain, prompts: InducerPrompts, requester: Requester | None, repairs: int) -> Ending:
        """Make at most ``repairs`` repair rounds, as long as they change something; return why they ended."""
        seen = set()
        for number in range(1, repairs + 1):
            if self._draft.failing() and requester is None:
                return "no_model"
            if requester is None or not self._draft.returning() or self._draft.state() in seen:
                break
            seen.add(self._draft.state())
            if not self._repair(domain, prompts, requester, number) and self._draft.failing():
                return "no_reply"
        if not self._draft.failing():
            return "all_usable"
        return "repeats" if self._draft.state() in seen else "rounds_used"

    def _repair(self, domain: Domain, prompts: InducerPrompts, requester: Requester, number: int) -> bool:
        """Make one repair round; return whether the model rewrote any of the tools that went back."""
        draft, failing = self._draft, self._draft.returning()
        accepted = (slot for slot in draft.slots if not slot.current.returns)
        usable = [signature_card(draft.tools[slot.current.written.name]).splitlines()[0] for slot in accepted]
        self._progress(f"repair {number}: {len(failing)} of {len(draft.slots)} tools go back with their faults ...")
        tools = [_failing_tool(slot) for slot in failing]
        answer = requester.send(prompts.system, lambda mode: prompts.repair(domain, tools, usable=usable, mode=mode))
        written = read_tools(answer.text)
        assigned, notes = _assign(written.tools, failing, draft.slots)
        rewritten = {slot: item for item, slot in zip(written.tools, assigned, strict=True) if slot is not None}
        retired = _retired(rewritten, failing)
        names = {slot.name for slot in retired}
        notes = [note for note in notes if note.problem != "not_rewritten" or note.tool not in names]
        why = "two tools had this name and one came back; the other is given up"
        notes += [Note("retired", why, slot.name) for slot in retired]
        draft.retired.extend(retired)
        draft.slots = [slot for slot in draft.slots if slot not in retired]
        for slot in draft.replace(rewritten, round_number=number) if rewritten else ():
            why = f"the new version is no better ({slot.versions[-1].reason()}); the one before is kept"
            notes.append(Note("not_better", why, slot.name))
        notes = [*answer.notes, *_reading_notes(written, answer), *notes]
        self.record("repair", answer, written, assigned, notes, requested=[item.name for item in tools])
        return bool(rewritten)

    def review(self, domain: Domain, prompts: InducerPrompts, requester: Requester) -> Review | None:
        """Show the model a run of each admitted tool with the truth, once; take the tools that it corrects.

        They are compiled and tried as all others are. None if no tool has a run with a known truth.
        """
        draft = self._draft
        slots = {slot.current.written.name: slot for slot in draft.slots if slot.current.status == "admitted"}
        runs = [run for slot in slots.values() if (run := reviewed_run(slot.current.verdict)) is not None]
        if not runs:
            return None
        text = prompts.review_runs(runs)
        review = Review(text=text, tools=draft.tools, admission=draft.admission)
        self._progress(f"review: {len(runs)} tools are shown with a run and its truth ...")
        tools = [_failing_tool(slots[run.name]) for run in runs]
        answer = requester.send(prompts.system, lambda mode: prompts.review(domain, tools, runs=text, mode=mode))
        written = read_tools(answer.text)
        assigned = [slots[item.name].number if item.name in slots else None for item in written.tools]
        rewritten = {slot: item for item, slot in zip(written.tools, assigned, strict=True) if slot is not None}
        notes = [*answer.notes, *(note for note in _reading_notes(written, answer) if note.problem != "no_tools")]
        unasked = "no admitted tool has this name; it is left aside"
        notes += [Note("unasked", unasked, item.name) for item in written.tools if item.name not in slots]
        number = len(self.done)
        for slot in draft.replace(rewritten, round_number=number, is_review=True) if rewritten else ():
            why = f"the reviewed version is no better ({slot.versions[-1].reason()}); the one before is kept"
            notes.append(Note("not_better", why, slot.name))
        self.record("review", answer, written, assigned, notes, requested=[run.name for run in runs])
        return review

    def record(
        self,
        kind: RoundKind,
        answer: ModelReply | None,
        written: WrittenTools,
        slots: Sequence[int | None],
        notes: Sequence[Note],
        *,
        text: str = "",
        requested: Sequence[str] = (),
    ) -> None:
        """Record and report a round. ``slots``: number for each tool; ``requested``: names sent back; ``text``: if no ``answer``."""
        text = text if answer is None else answer.text
        if holds_secret(text):
            why = "it holds what looks like a credential; only the recording has that as it came"
            notes = [*notes, Note("secret_in_reply", why)]
        found = Counter(slot.current.status for slot in self._draft.slots)
        done = Round(
            number=len(self.done),
            kind=kind,
            requested=tuple(requested),
            answer=answer,
            text=text,
            written=written,
            slots=tuple(slots),
            notes=tuple(note.redacted() for note in notes),
            counts={status: found[status] for status in ("admitted", "duplicate", "refused", "faulty", "unreadable")},
        )
        self.done.append(done)
        now = ", ".join(f"{count} {name}" for name, count in done.counts.items() if count)
        tokens = answer and f" ({answer.usage.prompt} + {answer.usage.completion} tokens, {answer.seconds:.0f} s)"
        self._progress(f"  {len(written.tools)} tools came{tokens or ''}; now {now}")
        for note in done.notes:
            self._progress(f"  {note.problem}{f' ({note.tool})' if note.tool else ''}: {note.message}")


_MOST_TRUTHS, _MOST_SHOWN = 8, 1_500  #: lines of truth, and characters of a result, that a review shows


def reviewed_run(verdict: Verdict | None) -> ReviewedRun | None:
    """Return one run of a tool on a known film for the review; None if there is none.

    Runs on example worlds go before staged films, runs about what is there before others, and runs that answered before others.
    """
    probed = [run for run in ([] if verdict is None else verdict.runs) if run.probe is not None]
    if verdict is None or not probed:
        return None
    run = min(
        probed,
        key=lambda run: (
            run.world.startswith(STAGED),
            any(fact.existence != "present" for fact in run.probe.each) if run.probe else True,
            run.status != "ok",
        ),
    )
    truth = [] if run.probe is None else [fact.line() for fact in run.probe.each]
    given = json.dumps({"status": run.status, "outputs": dict(run.outputs)}, ensure_ascii=False)
    return ReviewedRun(
        name=verdict.tool,
        world=run.world,
        arguments=json.dumps(dict(run.arguments), ensure_ascii=False),
        given=given if len(given) <= _MOST_SHOWN else f"{given[:_MOST_SHOWN]} ...",
        truth=tuple(truth[:_MOST_TRUTHS]),
    )


def _failing_tool(slot: Slot) -> FailingTool:
    written = slot.current.written
    text = written.text
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


def _reading_notes(written: WrittenTools, answer: ModelReply | None) -> Iterator[Note]:
    """Yield notes on unreadable tools, repeats, reasoning and prose in a reply."""
    for item in written.tools:
        if item.fault:
            yield Note("unreadable_tool", item.fault, item.name)
    for part in written.left_out:
        if part.why == "repeat":
            why = "it is in the reply more than once; the last one that can be read is taken"
            yield Note("repeated", why, ", ".join(part.tools))
        elif part.why == "reasoning":
            drafts = f"; the {len(part.tools)} tools in them are drafts and are left aside" if part.tools else ""
            yield Note("reasoning_in_reply", f"{len(part.text)} characters of the reply are reasoning{drafts}")
    if answer is not None and answer.text.strip() and not written.is_pure:
        prose = sum(len(item.text) for item in written.left_out if not item.why and not item.is_wrapping)
        if answer.mode != "plain":
            yield Note("structured_ignored", "the reply is not the one JSON value that was asked for")
        elif prose:
            yield Note("prose_around", f"{prose} characters of the reply belong to no tool")
    if not written.tools:
        yield Note("no_tools", "the reply holds no tool")


def _retired(rewritten: Mapping[int, WrittenTool], failing: Sequence[Slot]) -> list[Slot]:
    """Return the slots that were not rewritten and whose only fault is that a rewritten one has the same name.

    The model wrote a tool twice and repaired it once, so both count as one tool.
    """
    back = {slot.current.written.name for slot in failing if slot.number in rewritten}
    back &= {item.name for item in rewritten.values()}
    return [
        slot
        for slot in failing
        if slot.number not in rewritten
        and slot.current.written.name in back
        and {fault.code for fault in slot.current.faults()} == {"E_NAME"}
    ]


def _assign(
    tools: Sequence[WrittenTool], failing: Sequence[Slot], slots: Sequence[Slot]
) -> tuple[list[int | None], list[Note]]:
    """Return the slot number of each rewritten tool, None for tools that were not requested; and notes.

    A tool goes to the failing slot of its name. If as many new names as slots remain, they are matched in their order.
    """
    waiting = {slot.number: slot for slot in failing}
    assigned: list[int | None] = []
    for item in tools:
        own = next((number for number, slot in waiting.items() if slot.current.written.name == item.name), None)
        assigned.append(own)
        if own is not None:
            del waiting[own]
    notes: list[Note] = []
    taken = {slot.current.written.name for slot in slots}
    unknown = [place for place, given in enumerate(assigned) if given is None and tools[place].name not in taken]
    if len(unknown) == len(waiting):
        for place, (number, slot) in zip(unknown, list(waiting.items()), strict=True):
            assigned[place] = number
            del waiting[number]
            name = tools[place].name
            notes.append(Note("renamed", f"{slot.name!r} came back as {name!r}", name))
    unasked, lost = "this tool was not asked for; it is left aside", "this tool did not come back; it stays as it was"
    notes += [Note("unasked", unasked, tools[place].name) for place, given in enumerate(assigned) if given is None]
    return assigned, [*notes, *(Note("not_rewritten", lost, slot.name) for slot in waiting.values())]
