"""Throw-away tools: a model writes a tool document for one question; it is compiled, run at once and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from controller.conversation.opening import Opening
from controller.systems.looping import LoopSystem, Setup
from controller.systems.options import Options
from controller.systems.tool_users import operations_on, remembered
from controller.toolsets import CombinedTools, OneVideo
from tool_induction.toolset import LibraryTools, ToolDeclaration
from world_api.core.faults import ToolFault
from world_api.core.last_resort import observed

if TYPE_CHECKING:
    from controller.questions import Question
    from tool_induction.compiler.compiling import Compilation, CompiledTool
    from tool_induction.judging.port import Judge
    from world_api.session.session import Session

COMPOSE = "compose_tool"
MAX_FAULTS = 12  #: told of one document
#: A pipeline's document may be mended once.
PIPELINE_DOCUMENTS = 2


class ComposedTools:
    """``compose_tool``: takes a tool document and arguments, compiles the one and runs it with the other.

    At most ``documents`` are taken, faulty ones among them; with ``once`` none after the first that ran. Nothing is kept.
    """

    def __init__(self, session: Session, *, judge: Judge | None, documents: int, once: bool = False) -> None:
        self._session = session
        self._judge = judge
        self._left = documents
        self._once = once
        self._ran = False

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """The one declaration. What a tool does may write, so it runs alone."""
        properties = {
            "document": {
                "type": "object",
                "description": 'The tool as a JSON document. With several tools, {"tools": [...]}, the last one is run.',
            },
            "arguments": {"type": "object", "description": "Its inputs by name, video_id among them."},
        }
        parameters = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        description = (
            "Write a tool for this question alone: it is checked and run at once with the arguments, and forgotten. "
            f"({self._left} documents at most, faulty ones among them.)"
        )
        return [ToolDeclaration(name=COMPOSE, description=description, parameters=parameters, writes=True)]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the tool found; or its faults, with their places and what would mend them."""
        return observed(lambda: self._composed(arguments))

    def _composed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        wrong = sorted(arguments.keys() ^ {"document", "arguments"})
        inputs = arguments.get("arguments")
        if wrong or not isinstance(inputs, dict):
            told = ", ".join(wrong)[:200] or "arguments is no object"
            raise ToolFault("bad_arguments", f"{COMPOSE}: {told}", hint="send {document, arguments}, both objects")
        self._take_one()
        tools = self._compiled(arguments["document"])
        entry = list(tools)[-1]
        from world_api.operations import run

        runner = LibraryTools(
            tools, call=partial(run, self._session), world=self._session, traced=True, judge=self._judge
        )
        result = runner.call_tool(entry, inputs)
        self._ran = self._ran or "status" in result
        return result

    def _take_one(self) -> None:
        if self._once and self._ran:
            raise ToolFault("already_composed", "a tool for this question has run", hint="answer from what it found")
        if self._left == 0:
            raise ToolFault("documents_spent", "no more documents are taken", hint="go on without one")
        self._left -= 1

    def _compiled(self, document: Any) -> dict[str, CompiledTool]:
        from tool_induction.compiler.compiling import compile_document

        compilation = compile_document(document, allow_judge=self._judge is not None, groups=self._session.groups)
        if not compilation.ok or not compilation.tools:
            mend = f"mend it and send the whole document again; {self._left} are left"
            raise ToolFault("bad_tools", _faults(compilation), hint=mend if self._left else "go on without one")
        return dict(compilation.tools)


def _faults(compilation: Compilation) -> str:
    """Each fault with its place and, where there is one, what would mend it."""
    errors = [item for item in compilation.diagnostics if item.severity == "error"]
    lines = [
        f"{item.code} {item.json_path}: {item.message}" + (f" -> {item.suggestion}" if item.suggestion else "")
        for item in errors[:MAX_FAULTS]
    ]
    if len(errors) > MAX_FAULTS:
        lines.append(f"and {len(errors) - MAX_FAULTS} more")
    return "\n".join(lines) or "the document holds no tool"


class ComposeOptions(Options):
    """``documents``: how many throw-away documents an episode takes, faulty ones among them."""

    documents: int = Field(default=4, ge=1, le=50)


class FlatCompose(LoopSystem[ComposeOptions]):
    """The operations, and in any round a throw-away tool made of them: programmability without a library."""

    name = "flat+compose"
    tells_digest = True
    options_kind = ComposeOptions

    def setup(self, question: Question, session: Session) -> Setup:
        """The operations and ``compose_tool``; the tool language is told."""

        def make_tools() -> OneVideo:
            judge = remembered(self.context)
            composed = ComposedTools(session, judge=judge, documents=self.options.documents)
            return OneVideo(CombinedTools([composed, *operations_on(session, judge)]), session.video_id)

        told = tool_language(session.groups, allow_judge=self.context.judge is not None)
        briefing = self.prompts.render("compose", tool_language=told)
        return Setup(make_tools=make_tools, opening=Opening(briefing=briefing))


class Pipeline(LoopSystem[Options]):
    """One throw-away tool first, mended once at most; then an answer from what it found."""

    name = "pipeline"
    tells_digest = True

    def setup(self, question: Question, session: Session) -> Setup:
        """Only ``compose_tool``, and no answer before it ran."""

        def make_tools() -> OneVideo:
            judge = remembered(self.context)
            composed = ComposedTools(session, judge=judge, documents=PIPELINE_DOCUMENTS, once=True)
            return OneVideo(composed, session.video_id)

        opening = Opening(
            instructions="pipeline",
            briefing=tool_language(session.groups, allow_judge=self.context.judge is not None),
            answer_after=COMPOSE,
            tries=PIPELINE_DOCUMENTS,
        )
        return Setup(make_tools=make_tools, opening=opening)

    def settings(self) -> dict[str, Any]:
        """How often the document may be sent."""
        return {"documents": PIPELINE_DOCUMENTS}


def tool_language(groups: frozenset[str] = frozenset(), *, allow_judge: bool = False) -> str:
    """What a model must know to write a tool, as an induction is told it.

    ``groups`` of operations may be called too; with ``allow_judge`` also judge steps are told.
    """
    from tool_induction.inducing.asking.prompting import InducerPrompts

    return InducerPrompts(groups=groups, allow_judge=allow_judge).language()
