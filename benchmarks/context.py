"""What a model reads: characters and tokens of twelve scripted dialogues on a real film, for ``flat`` and ``hier``.

::

    python -m benchmarks.context --world WORLDS/composite_337s      measures, compares, writes the table to the docs
    python -m benchmarks.context --world ... --page "" --save now.json
    python -m benchmarks.context --world ... --before other.json    compares with other counts

The world is that of the profile ``classical``. Each dialogue (``dialogues.yaml``) is an episode of the real system on a session of
its own: real prompts, declarations and results; only the model is scripted. ``context.before.json`` holds the counts of the commit
that it names. To measure a commit again, check it out, put this file, ``dialogues.yaml`` and this module there, and
run it with ``--save``.

A request counts as the texts that it consists of: the contents of its messages, names and arguments of its calls, and its
declarations as compact JSON. Tokens are those of the o200k vocabulary where the package ``bpe-openai`` is installed, else the
project's own estimate; servers add some of their own for roles and templates.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.page import replace_section
from controller.answers import Question
from controller.options import Kind
from controller.systems import SystemContext, build_system
from tool_induction.library import load_library
from world_api.api import open_session
from world_api.chat.messages import Call, completion, estimate_tokens
from world_api.core.execution import SystemClock
from world_api.core.faults import EpisodeFault
from world_api.core.yaml_text import read_yaml
from world_api.operations import EVERY_OPERATION, run
from world_api.session.session import Session

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
BEFORE = HERE / "context.before.json"
LIBRARY = "hand_A"
#: The share of the tokens before that ``flat`` may take (per cent), and the one to strive for.
FLAT_SHARE, FLAT_STRETCH = 55.0, 45.0
#: arm -> its system and options
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "flat": ("flat", {}),
    **{f"hier {name}": ("hier", {"exposure": name}) for name in ("all", "tools", "tools_first", "on-demand")},
}
#: Operations of the exposure ``on-demand``.
DESCRIBE, CALL = "describe_operation", "call_operation"

Counts = dict[str, float]
Message = dict[str, Any]


# --- the dialogues --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What decides the answer: regular expressions, each matched by a result of the round ``round`` (from 1)."""

    round: int
    found: list[str]

    def missing(self, results: Sequence[str]) -> list[str]:
        """Return the expressions that no text of ``results`` matches."""
        return [one for one in self.found if not any(re.search(one, text) for text in results)]


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """A question with its answer, the calls that answer it, and the fact that decides it; ``flat`` or ``hier`` each."""

    name: str
    question: str
    answer: Any
    flat: list[list[dict[str, dict[str, Any]]]]
    hier: list[list[dict[str, dict[str, Any]]]]
    facts: dict[str, Facts]
    kind: Kind = "open"
    options: list[str] = field(default_factory=list)

    def asked(self) -> Question:
        """Return the question as a system gets it."""
        return Question(text=self.question, kind=self.kind, options=tuple(self.options))

    def rounds_of(self, system: str, session: Session) -> list[list[Call]]:
        """Return the calls of each round of ``flat`` or ``hier``, without ``video_id``, entities looked up in the session."""
        rounds = self.flat if system == "flat" else self.hier
        return [
            [Call(tool=tool, arguments=_resolved(given, session)) for one in calls for tool, given in one.items()]
            for calls in rounds
        ]


def dialogues() -> list[Dialogue]:
    """Return the twelve dialogues."""
    path = HERE / "dialogues.yaml"
    listed = read_yaml(path.read_bytes(), path.name, if_empty=None).value
    return [
        Dialogue(**{**one, "facts": {system: Facts(**facts) for system, facts in one["facts"].items()}})
        for one in listed
    ]


def _resolved(given: dict[str, Any], session: Session) -> dict[str, Any]:
    def value(item: Any) -> Any:
        name, at, time = str(item).partition("@")
        if name != "entity" or not at:
            return item
        found = run(
            session, "detect_objects", {"video_id": session.video_id, "timestamp": float(time), "category": "any"}
        )
        return found["detections"][0]["entity_id"]

    return {key: value(item) for key, item in given.items()}


class ScriptedModel:
    """Plays the rounds of a dialogue with the tools that requests declare, then answers; keeps the requests.

    Calls are adapted to what is declared: with ``video_id`` where a tool takes it; an operation that can only be called through
    ``call_operation`` is described in a round before it is called so; one that cannot be called is left out.
    """

    name = "scripted"

    def __init__(self, rounds: Sequence[Sequence[Call]], answer: Any, *, video_id: str) -> None:
        self.requests: list[dict[str, Any]] = []
        self.left_out = 0
        self._rounds = [list(calls) for calls in rounds]
        self._answer, self._video_id = answer, video_id
        self._described: set[str] = set()

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the calls of the next round, or the answer after the last."""
        self.requests.append(json.loads(json.dumps(request)))
        declared = {tool["function"]["name"]: tool["function"] for tool in request.get("tools", ())}
        calls: list[Call] = []
        while self._rounds and not calls:
            calls = self._next(declared)
        if not calls:
            calls = [Call(tool="submit_answer", arguments={"answer": self._answer, "spans": []})]
        numbered = [Call(tool=call.tool, arguments=call.arguments, id=f"c{len(self.requests)}_{place}")
                    for place, call in enumerate(calls)]  # fmt: skip
        return completion(model=self.name, calls=numbered, usage=None)

    def _next(self, declared: dict[str, Any]) -> list[Call]:
        planned = self._rounds[0]
        hidden = [call.tool for call in planned if call.tool not in declared and call.tool in EVERY_OPERATION]
        new = [name for name in dict.fromkeys(hidden) if name not in self._described] if CALL in declared else []
        if new:
            self._described.update(new)
            return [Call(tool=DESCRIBE, arguments={"name": name}) for name in new]
        del self._rounds[0]
        made = [self._adapted(call, declared) for call in planned]
        self.left_out += made.count(None)
        return [call for call in made if call is not None]

    def _adapted(self, call: Call, declared: dict[str, Any]) -> Call | None:
        assert isinstance(call.arguments, dict)
        if call.tool in declared:
            needs_video = "video_id" in declared[call.tool]["parameters"].get("properties", {})
            given = {"video_id": self._video_id, **call.arguments} if needs_video else call.arguments
            return Call(tool=call.tool, arguments=given)
        if CALL in declared:
            return Call(tool=CALL, arguments={"name": call.tool, "arguments": call.arguments})
        return None


def play(dialogue: Dialogue, arm: str, session: Session) -> ScriptedModel:
    """Play a dialogue with an arm of ``ARMS``; return the model with the requests that it got.

    Raises EpisodeFault: ``bad_option``, if the version of the project does not know the exposure.
    """
    system, options = ARMS[arm]
    rounds = dialogue.rounds_of(system, session)
    model = ScriptedModel(rounds, dialogue.answer, video_id=session.video_id)
    library = None if system == "flat" else load_library(LIBRARY)
    context = SystemContext(model=model, clock=SystemClock(), library=library, options=options)
    build_system(system, context).answer(dialogue.asked(), session)
    return model


def results_of(model: ScriptedModel) -> list[list[str]]:
    """Return the texts of the results that each round of a dialogue brought; ``describe_operation`` is no round of its own."""
    rounds: list[list[str]] = []
    for request in model.requests[1:]:
        messages = request["messages"]
        last = max(place for place, message in enumerate(messages) if message["role"] == "assistant")
        if any(call["function"]["name"] != DESCRIBE for call in messages[last]["tool_calls"]):
            rounds.append([str(message["content"]) for message in messages[last + 1 :]])
    return rounds


# --- counting -------------------------------------------------------------------------------------------------------


@functools.cache
def counter() -> tuple[str, Callable[[str], int]]:
    """Return the name of the token counter, and the counter."""
    try:
        from bpe_openai import get_encoding  # type: ignore[import-not-found,import-untyped,unused-ignore]  # optional, untyped
    except ImportError:
        return "the project's own estimate (four ASCII characters a token)", estimate_tokens
    encoding = get_encoding("o200k_base")
    return "o200k_base (package bpe-openai)", lambda text: len(encoding.encode_ordinary(text))


def _size(texts: Sequence[str]) -> tuple[int, int]:
    count = functools.lru_cache(maxsize=None)(counter()[1])
    return sum(map(len, texts)), sum(map(count, texts))


def _declared(request: Message) -> list[str]:
    return [json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in request.get("tools", ())]


def _said(request: Message) -> list[str]:
    texts = []
    for message in request["messages"]:
        texts.append(str(message.get("content") or ""))
        for call in message.get("tool_calls", ()):
            texts += [call["function"]["name"], call["function"]["arguments"]]
    return texts


def measure(world: Path, arm: str) -> Counts:
    """Return the counts of an arm, per dialogue: first request, declarations in it, a request on average, all requests."""
    played = []
    for dialogue in dialogues():
        session = open_session(world.parent, world.name, name=None)
        played.append(play(dialogue, arm, session))
    requests = [request for model in played for request in model.requests]
    sizes = [[*_size(_declared(request)), *_size(_said(request))] for request in requests]
    firsts = [[*_size(_declared(model.requests[0])), *_size(_said(model.requests[0]))] for model in played]
    results = [text for model in played for texts in results_of(model) for text in texts]
    digests = [
        line for text in _said(played[0].requests[0]) for line in text.splitlines() if '"found_by":"digest"' in line
    ]
    number = len(played)
    totals = [sum(column) for column in zip(*sizes, strict=True)]
    first = [sum(column) / number for column in zip(*firsts, strict=True)]
    return {
        "first characters": round(first[0] + first[2]),
        "first tokens": round(first[1] + first[3]),
        "declarations tokens": round(first[1]),
        "rounds": round(len(requests) / number, 2),
        "round characters": round((totals[0] + totals[2]) / len(requests)),
        "round tokens": round((totals[1] + totals[3]) / len(requests)),
        "question characters": round((totals[0] + totals[2]) / number),
        "question tokens": round((totals[1] + totals[3]) / number),
        "results tokens": round(_size(results)[1] / number),
        "digest tokens": _size(digests)[1],
        "share of declarations": round(100 * totals[1] / (totals[1] + totals[3]), 1),
        "left out": sum(model.left_out for model in played),
    }


# --- the table ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print one table, and put it on the page."""
    chosen = _parser().parse_args(arguments)
    found: dict[str, Counts] = {}
    for arm in ARMS:
        try:
            found[arm] = measure(chosen.world, arm)
        except EpisodeFault as fault:
            if fault.code != "bad_option":
                raise
    record = {"commit": chosen.commit, "counter": counter()[0], "arms": found}
    if chosen.save:
        chosen.save.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    before = json.loads(chosen.before.read_text(encoding="utf-8")) if chosen.before.is_file() else None
    text = table(record, before)
    print(text)
    if chosen.page:
        replace_section(Path(chosen.page), "python -m benchmarks.context", text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.context", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--world", type=Path, required=True, help="the world of composite_337s, of profile classical")
    parser.add_argument("--before", type=Path, default=BEFORE, help="counts to compare with")
    parser.add_argument("--save", type=Path, help="write the counts to this file")
    parser.add_argument("--commit", default="", help="the commit that is measured, for --save")
    parser.add_argument("--page", default=str(PAGE), help="page whose section is replaced; empty for none")
    return parser


_COLUMNS = {
    "first request": "first tokens",
    "its declarations": "declarations tokens",
    "a request": "round tokens",
    "a question": "question tokens",
}


def table(now: dict[str, Any], before: dict[str, Any] | None) -> str:
    """Return the section of the page: tokens before and after for each arm, and what the goals say."""
    if before is not None and before["counter"] != now["counter"]:
        raise SystemExit(f"the counts before were made with {before['counter']}, these with {now['counter']}")
    was: dict[str, Counts] = {} if before is None else before["arms"]
    about = f"Commit before: {before['commit']}. " if before else ""
    lines = [
        "### What a model reads",
        "",
        "Twelve scripted dialogues on a real film of 337 s (`benchmarks/dialogues.yaml`), the average of one, in tokens of "
        f"{now['counter']}. {about}A question is the sum of all its requests.",
        "",
        f"| arm | {' | '.join(_COLUMNS)} | requests | characters of a question | of before |",
        "| --- |" + " ---: |" * (len(_COLUMNS) + 3),
    ]
    for arm, counts in now["arms"].items():
        shown = arm.replace("_", "-")
        if old := was.get(arm):
            lines.append(f"| {shown}, before | {_cells(old)} | |")
        share = f"{100 * counts['question tokens'] / old['question tokens']:.0f} %" if old else ""
        lines.append(f"| {shown} | {_cells(counts)} | {share} |")
    if results := _results(now["arms"], was):
        lines += ["", *results]
    if left := {arm: counts["left out"] for arm, counts in now["arms"].items() if counts["left out"]}:
        said = ", ".join(f"{int(number)} with {arm.replace('_', '-')}" for arm, number in left.items())
        lines += ["", f"Calls of operations that an exposure does not offer were left out: {said}."]
    return "\n".join([*lines, *_goals(now["arms"], was)])


def _results(now: dict[str, Counts], was: dict[str, Counts]) -> list[str]:
    """Return what the results of the calls and the digest take, each counted once, before and now."""
    kept = {arm: counts for arm, counts in was.items() if "results tokens" in counts and arm in now}
    shares = [
        f"`{arm.replace('_', '-')}` {old['results tokens']:,} before and {now[arm]['results tokens']:,} now "
        f"({100 * now[arm]['results tokens'] / old['results tokens']:.0f} %)"
        for arm, old in kept.items()
    ]
    digests = [f"The digest: {was[arm]['digest tokens']:,} and {now[arm]['digest tokens']:,}." for arm in [*kept][:1]]
    return (
        [" ".join([f"Results of the calls of a question, each counted once: {'; '.join(shares)}.", *digests])]
        if shares
        else []
    )


def _cells(counts: Counts) -> str:
    tokens = [f"{counts[key]:,}" for key in _COLUMNS.values()]
    return " | ".join([*tokens, f"{counts['rounds']:.2f}", f"{counts['question characters']:,}"])


def _goals(now: dict[str, Counts], was: dict[str, Counts]) -> list[str]:
    if "flat" not in was:
        return []
    flat = now["flat"]["question tokens"]
    share = 100 * flat / was["flat"]["question tokens"]
    met = "met" if share <= FLAT_SHARE else "missed"
    lines = [
        "",
        f"Goals: `flat` at most {FLAT_SHARE:.0f} % of before: {met} ({share:.1f} %; to strive for {FLAT_STRETCH:.0f} %).",
    ]
    for arm in ("hier tools_first", "hier on-demand"):
        if arm in now:
            tokens = now[arm]["question tokens"]
            shown, said = arm.replace("_", "-"), "met" if tokens <= flat else "missed"
            lines.append(f"`{shown}` at most `flat`: {said} ({tokens:,} and {flat:,}).")
    return lines


if __name__ == "__main__":
    sys.exit(main())
