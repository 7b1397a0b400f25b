"""Episodes as text for a terminal of 80 columns, and as the JSON summary that ``videoworld ask --json`` prints."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from controller.answers import SUBMIT_ANSWER
from controller.episode import PARTS, Account, Accounts, CallRecord, Episode, RoundRecord, accounts_of, total
from controller.episode_tools import judging_tokens
from controller.messages import spans_in
from controller.records.journal import Conditions, JournalEntry
from world_api.chat.messages import READ_MORE, text_of
from world_api.chat.rule_based import RULE_BASED
from world_api.core.canonical import canonical_json
from world_api.core.cost import Spent
from world_api.core.faults import EpisodeFault
from world_api.core.identifiers import clock_text, columns, pictured, plural
from world_api.terminal import to_json

#: The note beside every answer of the rule-based model.
WATERMARK = "plumbing, not a result: the rule-based model answered"


def summary_record(episode: Episode, *, recorded_as: str | None = None) -> dict[str, Any]:
    """Return the summary of an episode as JSON; ``recorded_as`` is its name in a journal."""
    usage, task, calls = episode.usage, episode.task, episode.tool_calls
    return {
        "answer": episode.answer,
        "value": episode.value,
        "spans": [
            {"start_time": one.start_time, "end_time": one.end_time, "returned_by_a_tool": bool(one.returned_by)}
            for one in episode.spans
        ],
        "uncertain": doubts_of(episode),
        "outcome": episode.outcome,
        "reason": episode.reason,
        "watermark": watermark(episode),
        "question": task.question.text,
        "kind": task.question.kind,
        "options": list(task.question.options),
        "video_id": task.video_id,
        "as_of": task.question.as_of,
        "system": task.system,
        "library": task.library.name if task.library is not None else None,
        "model": episode.model,
        "rounds": len(episode.rounds),
        "tool_calls": [
            {
                "tool": call.tool,
                "arguments": call.arguments,
                "calls_inside": len(call.inner_calls),
                "error": error.get("code") if isinstance(error := call.result.get("error"), dict) else None,
            }
            for call in calls
        ],
        "calls_inside_tools": sum(len(call.inner_calls) for call in calls),
        "slips": episode.slips,
        "internal_faults": episode.internal_faults,
        "tokens": {**usage.record(), "total": usage.total},
        "judging_tokens": sum(judging_tokens(call.result) for call in calls),
        "cost": accounts_of(episode).record(),
        "seconds": episode.timings.seconds if episode.timings is not None else None,
        "recorded_as": recorded_as,
    }


def summary_text(
    episode: Episode, *, recorded_as: str | None = None, committed: Mapping[str, Any] | None = None
) -> str:
    """Return the summary of an episode in a few lines; ``committed`` counts the memories and entities added to the world."""
    usage, judging = episode.usage, sum(judging_tokens(call.result) for call in episode.tool_calls)
    counted = "estimated" if usage.estimated else "counted"
    cited = (span_text(vars(span)) + ("" if span.returned_by else " (returned by no tool)") for span in episode.spans)
    tokens = (
        f"{usage.total} ({usage.prompt} in, {usage.completion} out, {counted}), {plural(len(episode.rounds), 'round')}"
    )
    lines = {
        "evidence": ", ".join(cited),
        "uncertain": f"\n{'':10}".join(map(doubt_text, doubts_of(episode))),
        "tools": _tools_text(episode.tool_calls) or "none",
        "tokens": tokens,
        **_cost_parts(accounts_of(episode)),
        "judging": f"{judging} tokens at most" if judging else "",
        "ended": f"{episode.outcome}: {episode.reason}" if episode.reason is not None else "",
        "slips": slips_text(episode),
        "defects": f"{plural(episode.internal_faults, 'call')} ended in an internal fault"
        if episode.internal_faults
        else "",
        "committed": "",
        "recorded": recorded_as or "",
        "note": watermark(episode) or "",
    }
    if committed is not None:
        memories, entities = int(committed["memories"]), int(committed["entities"])
        words = ["memory" if memories == 1 else "memories", "entity" if entities == 1 else "entities"]
        lines["committed"] = f"{memories} {words[0]} and {entities} {words[1]}"
    # A typed answer has to be one value, also where a tool gave a range or could not tell.
    is_forced = bool(episode.answer and lines["uncertain"]) and episode.task.question.kind != "open"
    answer = f"{episode.answer} (not sure)" if is_forced else episode.answer or ""
    return "\n".join([answer, "", *(f"{label:9} {text}" for label, text in lines.items() if text)])


def doubts_of(episode: Episode) -> list[dict[str, Any]]:
    """Return what the calls behind the answer could not determine: those that returned a cited span, or if none did, all.

    One record for each such call: ``tool``, the ``status`` and ``summary`` of an incomplete result, the words
    ``unmatched`` (if what was found may lack them) and ``not_judged``, and the intervals ``not_examined``. Of a list with
    possible items that are cited, or of which none is cited, the number of its items as a range, and what those ``lacks``.
    """
    cited = {name for span in episode.spans for name in span.returned_by}
    spans = {(span.start_time, span.end_time) for span in episode.spans}
    found: list[dict[str, Any]] = []
    for call in [call for call in episode.tool_calls if call.id in cited] or episode.tool_calls:
        judged = call.result.get("judged")  # of `judge_items` a list of answers
        result = {**call.result, **(judged if isinstance(judged, dict) else {})}
        status = result.get("status", "" if result.get("not_found") else "partial")  # operations have none
        keys = ["not_judged", "not_examined"]
        keys += ["status", "summary", "unmatched"] if status in ("partial", "budget_exhausted") else []
        doubt = {"tool": call.tool, **_possible_items(result, spans if call.id in cited else None)}
        doubt |= {key: result[key] for key in keys if result.get(key)}
        if len(doubt) > 1 and doubt not in found:
            found.append(doubt)
    return found


def _possible_items(result: Mapping[str, Any], cited: Set[tuple[float, float]] | None) -> dict[str, Any]:
    """Return how many items the lists of a result have, as a range, and what the possible ones lack; empty if all are sure.

    ``cited``: only lists are meant of which a possible item has one of these spans; None: all lists.
    """
    found: dict[str, Any] = {}
    lacks: list[str] = []
    for key, rows in result.items():
        items = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        possible = [row for row in items if row.get("lacks")]
        if possible and (cited is None or any((one.start, one.end) in cited for one in spans_in(possible))):
            found[key] = f"{len(items) - len(possible)} to {len(items)}"
            lacks += [word for row in possible for word in row["lacks"]]
    return {**found, "lacks": list(dict.fromkeys(lacks))} if found else {}


def doubt_text(doubt: Mapping[str, Any]) -> str:
    """Return one of the records of ``doubts_of`` on one line."""
    named = (_part(key, doubt[key]).replace("_", " ") for key in doubt if key not in ("tool", "status", "summary"))
    return f"{doubt['tool']}: {single_line(str(doubt.get('summary') or '; '.join(named)))}"


def slips_text(episode: Episode) -> str:
    """Return how often each kind of malformed reply or call occurred, as ``name xN, ...``."""
    return ", ".join(f"{name} x{number}" for name, number in episode.slips.items())


def money_text(account: Account) -> str:
    """Return the money of an account as text; empty if no price is known."""
    if account.money is None:
        return ""
    return ("at least " if account.is_least else "") + f"${account.money:.4f}"


def number_of(value: Any) -> float | None:
    """Return a JSON number as a float; None for any other value."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def evidence_of(call: CallRecord) -> Iterator[tuple[float, float, float]]:
    """Yield frame time, start and end (seconds) of each evidence in the result of a call."""
    evidence = call.result.get("evidence")
    for piece in evidence if isinstance(evidence, list) else ():
        if isinstance(piece, Mapping):
            frame, start, end = (number_of(piece.get(key)) for key in ("frame_time", "start_time", "end_time"))
            if frame is not None and start is not None and end is not None:
                yield frame, start, end


def page_record(episode: Episode) -> dict[str, Any]:
    """Return what the page of the world shows of an episode, as JSON values: question, answer, calls with their evidence."""
    return {
        "lines": [
            episode.task.question.text,
            episode.answer or f"no answer: {episode.reason}",
            watermark(episode) or "",
        ],
        "spans": [[span.start_time, span.end_time] for span in episode.spans],
        "calls": [
            {
                "head": f"{call.tool} {arguments_text(call.arguments)}".strip(),
                "text": result_text(call.result),
                "spans": list(dict.fromkeys((start, end) for _, start, end in evidence_of(call))),
            }
            for call in episode.tool_calls
        ],
    }


def watermark(episode: Episode) -> str | None:
    """Return the note to show beside the answer if the rule-based model gave it; otherwise None."""
    return WATERMARK if episode.model == RULE_BASED else None


def _cost_parts(accounts: Accounts) -> dict[str, str]:
    """Return texts by label: what perception and the judge cost, if they were used, and money if a price is known."""
    parts: dict[str, str] = {}
    for part in ("perception", "judge"):
        account = accounts.logical[part]
        if account.requests:
            about = "about " if account.estimated else ""
            parts[part] = f"{about}{account.tokens} tokens in {plural(account.requests, 'request')}"
    whole, paid = total(accounts.logical), total(accounts.physical)
    if whole.money is not None:
        parts["money"] = money_text(whole) + ("" if paid == whole else f" ({money_text(paid) or '$0'} paid)")
    return parts


def _tools_text(calls: list[CallRecord]) -> str:
    """Return the names of the called tools in order, with number of inner operations and "failed"; equal neighbours are counted."""
    names = [
        call.tool
        + (f" ({plural(len(call.inner_calls), 'operation')})" if call.inner_calls else "")
        + (" (failed)" if call.failed else "")
        for call in calls
        if call.tool != SUBMIT_ANSWER
    ]
    runs = ((name, len(list(some))) for name, some in itertools.groupby(names))
    return " -> ".join(name if number == 1 else f"{name} x{number}" for name, number in runs)


WIDTH = 80
_MORE = "…"
_TEXT_COLUMNS = 32  #: of one text among arguments


def single_line(text: str) -> str:
    """Return the text on one line, with visible signs in place of control characters."""
    return pictured(" ".join(text.split()))


def cut(text: str, width: int) -> str:
    """Return the text in at most ``width`` columns, with an ellipsis at the end if it was cut."""
    if columns(text) <= width:
        return text
    return text[: _fitting(text, width - columns(_MORE))].rstrip() + _MORE


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text; longer ones are broken at spaces to at most ``width`` columns, longer words inside."""
    for line in text.splitlines() or [""]:
        rest = pictured(line.rstrip().expandtabs(4))
        while columns(rest) > width:
            end = max(1, _fitting(rest, width))
            space = rest.rfind(" ", 0, end + 1)
            at = space if space > 0 else end
            yield rest[:at].rstrip()
            rest = rest[at:].lstrip()
        yield rest


def _fitting(text: str, width: int) -> int:
    """Return how many characters at the start of a text fit into ``width`` columns."""
    used = 0
    for place, letter in enumerate(text):
        used += columns(letter)
        if used > width:
            return place
    return len(text)


def value_text(value: Any, width: int = _TEXT_COLUMNS) -> str:
    """Return a JSON value as short text; strings and nested values are cut to ``width`` columns."""
    if isinstance(value, str):
        return f'"{cut(single_line(value), width)}"'
    if isinstance(value, float):
        return f"{value:g}" if abs(value) >= 1e6 or value == 0 else f"{round(value, 3):.10g}"
    if isinstance(value, Mapping) and {"start_time", "end_time"} <= value.keys():
        return span_text(value)
    shown = in_words(value) if isinstance(value, Mapping | list) else canonical_json(value)
    return cut(single_line(shown), width)


def in_words(value: Any) -> str:
    """Return a JSON value as text for readers, without brackets and quotes."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{str(key).replace('_', ' ')} {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def span_text(record: Mapping[str, Any]) -> str:
    """Return an interval as clock times; ``?`` if its start or end is not a number."""
    start, end = record.get("start_time"), record.get("end_time")
    if not isinstance(start, int | float) or not isinstance(end, int | float):
        return "?"
    return f"{clock_text(start)}-{clock_text(end)}"


#: Fields of results that are not shown: metadata, and times that are shown as an interval.
_ASIDE = frozenset(
    "evidence cost calls warnings truncated hint center_time segment_id scene_id video_id matching_lines summary "
    "start_time end_time status unused_words matched unmatched not_found not_judged not_examined lacks judged vocabulary".split()
)
#: Fields that hold the text of an item.
_WORDS = (
    "snippet", "caption", "brief_caption", "content", "answer", "entity_hint", "hint", "label", "text", "path_repr", "item",
)  # fmt: skip
_FIRST = 3


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Return the arguments of a call on one line, without ``video_id``: the interval first, then from short to long."""
    given = {key: value for key, value in arguments.items() if key != "video_id"}
    span = ""
    if {"start_time", "end_time"} <= given.keys():
        span = span_text({key: given.pop(key) for key in ("start_time", "end_time")})
    parts = [f"{single_line(key)}={value_text(value)}" for key, value in given.items()]
    return ", ".join([*([span] if span else []), *sorted(parts, key=len)])


def result_text(result: Mapping[str, Any]) -> str:
    """Return on one line the fault of a result, or its status unless it is ``ok``, its interval and its other fields.

    Fields that most results have (``_ASIDE``) are left out. If nothing remains: the hint, or "nothing".
    """
    error = result.get("error")
    if isinstance(error, Mapping):
        return single_line(f"fault {error.get('code')}: {error.get('message')}")
    found = result.get("outputs")
    status = result.get("status")
    parts = [single_line(str(status))] if isinstance(status, str) and status != "ok" else []
    shown = found if isinstance(found, Mapping) else result
    parts += [span_text(shown)] if {"start_time", "end_time"} <= shown.keys() else []
    parts += [_part(key, value) for key, value in shown.items() if key not in _ASIDE]
    return "; ".join(parts) or single_line(str(result.get("hint") or "nothing"))


def outputs_text(origins: Mapping[str, Any]) -> str:
    """Return as text, for each output of a tool, the numbers of the first six inner calls it was made from."""
    outputs = origins.get("outputs")
    parts = []
    for name, source in outputs.items() if isinstance(outputs, Mapping) else ():
        calls = source.get("calls") if isinstance(source, Mapping) else None
        if isinstance(calls, list) and calls:
            numbers = " ".join(single_line(str(number)) for number in calls[:6]) + (" ..." if len(calls) > 6 else "")
            parts.append(f"{single_line(str(name))} from {'call' if len(calls) == 1 else 'calls'} {numbers}")
    return ", ".join(parts)


def spent_text(spent: Sequence[Spent]) -> str:
    """Return the requests to other models during a call as text: count, tokens and pictures by purpose and model."""
    parts = []
    for purpose, model in dict.fromkeys((item.purpose, item.model) for item in spent):
        items = [item for item in spent if (item.purpose, item.model) == (purpose, model)]
        tokens, images = sum(item.prompt + item.completion for item in items), sum(item.images for item in items)
        about = "~" if any(item.estimated for item in items) else ""
        more = [plural(images, "image")] if images else []
        more += [f"{cached} from the cache"] if (cached := sum(not item.physical for item in items)) else []
        aside = f" ({', '.join(more)})" if more else ""
        parts.append(f"{purpose} by {single_line(model)}: {len(items)} asked, {about}{tokens:,} tokens{aside}")
    return "; ".join(parts)


def _part(key: str, value: Any) -> str:
    name = single_line(str(key))
    if not isinstance(value, list):
        return f"{name} {value_text(value, 160)}"
    first = "; ".join(map(item_text, value[:_FIRST]))
    possible = sum(isinstance(item, Mapping) and bool(item.get("lacks")) for item in value)
    least = f"{len(value) - possible} to " if possible else ""
    return f"{least}{len(value)} {name}" + (f": {first}" if first else "") + (" ..." if len(value) > _FIRST else "")


def item_text(item: Any) -> str:
    """Return an item of a result on one line: its interval and its words."""
    if not isinstance(item, Mapping):
        return value_text(item, WIDTH)
    words = next((item[key] for key in _WORDS if isinstance(item.get(key), str) and item[key]), "")
    parts = [span_text(item)] if "start_time" in item else []
    parts += [value_text(words)] if words else []
    return " ".join(parts) or cut(value_text(item), 40)


_THOUGHT_LINES = 6  #: of a thought, unless all is shown
#: Problems of a reply without content; the transcript holds a filler in its place.
_SILENT = frozenset({"no_choices", "bad_message", "empty_reply"})
_INNER = 12  #: operations inside a tool, unless all are shown


def round_lines(episode: Episode, number: int, *, full: bool) -> Iterator[str]:
    """Yield the lines of one round; round 0 is what the system did before the first request."""
    calls = [call for call in episode.calls if call.round == number]
    if number == 0:
        yield "before the first round"
    else:
        record = episode.rounds[number - 1]
        yield _heading(episode, record)
        yield from _reply_lines(episode, record, full=full)
    for place, call in enumerate(calls):
        last = place == len(calls) - 1
        yield from _call_lines(call, "`- " if last else "|- ", "   " if last else "|  ", full=full)


def _heading(episode: Episode, record: RoundRecord) -> str:
    usage = record.usage
    about = "~" if usage.estimated else ""
    cached = f" ({usage.cached:,} of it cached)" if usage.cached else ""
    parts = [f"round {record.number}", f"{about}{usage.prompt:,} tokens in{cached}, {usage.completion:,} out"]
    timed = episode.timings.rounds if episode.timings is not None else []
    if record.number <= len(timed):
        parts.append(f"{timed[record.number - 1].model_seconds:.2f} s")
    if not record.physical:
        parts.append("kept from an earlier request")
    if not record.tools_offered:
        parts.append("no tools offered")
    return cut(" - ".join(parts), WIDTH)


def _reply_lines(episode: Episode, record: RoundRecord, *, full: bool) -> Iterator[str]:
    if record.folded:
        yield f"folded    {record.folded} old results, so that the request fits the window"
    if record.thought:
        yield from _labelled("thought", record.thought.strip(), None if full else _THOUGHT_LINES)
    if said := reply_text(episode, record):
        yield from _labelled("says", said, None if full else _THOUGHT_LINES)
    for problem in record.problems:
        yield f"slip      {problem}"


def _labelled(label: str, text: str, limit: int | None = None) -> Iterator[str]:
    """Yield the lines of a text with a label before the first; after ``limit`` of them, a line with the number of the others."""
    lines = list(wrapped(text, WIDTH - _LABEL))
    for place, line in enumerate(lines[:limit]):
        yield f"{label if place == 0 else '':{_LABEL}}{line}".rstrip()
    if limit is not None and limit < len(lines):
        yield f"{'':{_LABEL}}... and {len(lines) - limit} lines more"


def reply_text(episode: Episode, record: RoundRecord) -> str:
    """Return the text of the model's reply in a round, without its calls; empty if the reply had no content."""
    said = [message for message in episode.messages if message.get("role") == "assistant"]
    # The loop may have added an assistant message before the last request.
    is_last = not record.tools_offered and len(said) > len(episode.rounds)
    content = said[-1 if is_last else record.number - 1].get("content") if record.number <= len(said) else None
    return content.strip() if isinstance(content, str) and not _SILENT.intersection(record.problems) else ""


def _call_lines(call: CallRecord, first: str, then: str, *, full: bool) -> Iterator[str]:
    """Yield a call as a branch of a tree; ``first`` is the prefix of its first line, ``then`` that of the others."""
    if call.tool == SUBMIT_ANSWER and call.problem is None:
        yield f"{first}{SUBMIT_ANSWER}: see the answer"
        return
    yield cut(f"{first}{single_line(call.tool)}({arguments_text(call.arguments)})", WIDTH)
    for slip in (call.problem, call.note):
        if slip is not None:
            yield f"{then}slip: {slip}"
    for line in _inner_lines(call.inner_calls, full=full):
        yield cut(f"{then}|  {line}", WIDTH)
    if full:
        for line in to_json({"arguments": call.arguments, "result": call.result}).splitlines():
            yield from (f"{then}{piece}" for piece in wrapped(line, WIDTH - len(then)))
    else:
        start, *rest = wrapped(result_text(call.result), WIDTH - len(then) - 3)
        yield f"{then}-> {start}"
        if rest:
            yield f"{then}   {cut(' '.join(rest), WIDTH - len(then) - 3)}"
    if made := outputs_text(call.origins):
        yield cut(f"{then}made of: {made}", WIDTH)
    if call.spent:
        yield cut(f"{then}spent: {spent_text(call.spent)}", WIDTH)


def _inner_lines(calls: Sequence[Mapping[str, Any]], *, full: bool) -> Iterator[str]:
    """Yield a line for each operation inside a tool, with its number; at most 12 lines unless ``full``."""
    shown = calls if full or len(calls) <= _INNER else calls[: _INNER - 1]
    for call in shown:
        arguments, outcome = call.get("arguments"), call.get("outcome")
        given = arguments_text(arguments) if isinstance(arguments, Mapping) else ""
        came = [f"{call['size']} found"] if isinstance(call.get("size"), int) else []
        came += [single_line(str(outcome))] if outcome != "ok" else []
        # The result comes before the arguments, which may be cut off.
        line = f"{call.get('call', '-')!s:>3} {single_line(str(call.get('name')))}: {' '.join(came) or 'done'}"
        yield line + (f" ({given})" if given else "")
    if len(shown) < len(calls):
        yield f"    ... and {len(calls) - len(shown)} operations more"


def cost_lines(accounts: Accounts) -> list[str]:
    """Return a table of logical and physical cost: tokens, requests, money. Parts without requests are left out."""
    line = "{:10}{:12}{:>10}  {:>8}  {}".format
    lines = [line("", "", "tokens", "requests", "money")]
    for way, held in (("logical", accounts.logical), ("physical", accounts.physical)):
        if way == "physical" and held == accounts.logical:
            lines.append(f"{way:10}the same")
            break
        used: list[tuple[str, Account]] = [(part, held[part]) for part in PARTS if held[part].requests]
        for place, (part, one) in enumerate([*used, ("total", total(held))] if len(used) != 1 else used):
            tokens = f"{'~' * one.estimated}{one.tokens:,}"
            lines.append(line("" if place else way, part, tokens, f"{one.requests:,}", money_text(one)).rstrip())
    everything = total(accounts.logical) + total(accounts.physical)
    if everything.estimated:
        lines.append("~ estimated: the server did not count them")
    if everything.unpriced:
        lines.append("no price is known for " + ", ".join(map(single_line, everything.unpriced)))
    return lines


_LABEL = 10
_FOUND_BY = re.compile(r'\{"found_by":\s*"([^"\\]{1,64})"')  #: the beginning of a line of material in the first message
_ELSEWHERE = frozenset({"language", "prompt_hash"})  #: settings that are shown on another line
_BEGINNING = 400  #: characters of given material, unless all is shown
_HASH = 12  #: characters of a hash that are shown


def episode_page(entry: JournalEntry, *, only: int | None = None, full: bool = False) -> str:
    """Return the whole episode as text, or only one of its rounds.

    Round 0 is what the model was given, and what the system did, before the first request.

    Raises EpisodeFault: ``unknown_round``.
    """
    episode = entry.episode
    numbers = [item.number for item in episode.rounds]
    if any(call.round == 0 for call in episode.calls) or (only is not None and any(_given(episode.messages))):
        numbers.insert(0, 0)
    if only is not None and only not in numbers:
        raise EpisodeFault(
            "unknown_round",
            f"the episode has no round {only}",
            hint="one of: " + ", ".join(map(str, numbers)) if numbers else "it has none",
        )
    lines = list(_head(episode, entry.name, entry.conditions)) if only is None else []
    for number in numbers if only is None else [only]:
        lines += ["", *round_lines(episode, number, full=full)]
        if only == 0:
            for title, text in _given(episode.messages):
                lines += _labelled("given", title)
                if text:
                    lines += _labelled("", single_line(text) if full else cut(single_line(text), _BEGINNING))
    if only is None:
        lines += ["", *_ending(episode), "", *cost_lines(accounts_of(episode))]
    return "\n".join(lines).lstrip("\n")


def list_of(entries: Sequence[JournalEntry], unfinished: Sequence[str]) -> str:
    """Return the episodes of a folder, one per line; ``unfinished`` are the names of those without an end."""
    lines = [
        cut(f"{one.name}  {one.episode.outcome:9} {cut(single_line(one.episode.task.question.text), 34)}", WIDTH)
        for one in entries
    ]
    lines += [f"{name}  not finished" for name in unfinished]
    return "\n".join(lines) or "no episode is recorded there"


def _head(episode: Episode, name: str, conditions: Conditions) -> Iterator[str]:
    task, question, budget = episode.task, episode.task.question, episode.budget
    until = f", as of {question.as_of:g} s" if question.as_of is not None else ""
    bounds = [plural(budget.rounds, "round"), plural(budget.calls, "call"), plural(budget.tokens, "token")]
    bounds.append(f"{budget.seconds:g} s")
    bounds += [f"${budget.money:g}"] if budget.money is not None else []
    bounds += [f"window of {budget.window:,}"] if budget.window is not None else []
    given = ", ".join(title for title, _ in _given(episode.messages))
    return _fields(
        ("question", question.text),
        ("wanted", question.kind if question.kind != "open" else ""),
        *(("", f"{letter}. {option}") for letter, option in zip(question.letters, question.options, strict=True)),
        ("video", f"{task.video_id}, world {task.world_hash[:_HASH]}, session {task.session}{until}"),
        ("system", f"{task.system} ({offered_text(episode)})"),
        ("library", f"{task.library.name} {task.library.hash[:_HASH]}" if task.library is not None else ""),
        ("settings", ", ".join(_settings(task.settings))),
        ("model", f"{episode.model}, prompts in {episode.language} {episode.prompt_hash[:_HASH]}"),
        ("budget", ", ".join(bounds)),
        ("given", f"{given}, before anything was called" if given else ""),
        ("recorded", f"{name}, by version {conditions.version}"),
    )


def _fields(*fields: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of texts with their labels; a field without text is left out."""
    return itertools.chain.from_iterable(_labelled(label, text) for label, text in fields if text)


def _given(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield title (with size) and text of each material that the first message contains beside the question.

    Pictures are counted in one title, with an empty text.
    """
    first = next((message for message in messages if message.get("role") == "user"), {})
    for line in text_of(first).splitlines():
        named = _FOUND_BY.match(line)
        if named:
            yield f"{single_line(named[1])} ({len(line):,} characters)", line
    content = first.get("content")
    pictures = sum(part.get("type") == "image_url" for part in content) if isinstance(content, list) else 0
    if pictures:
        yield plural(pictures, "picture"), ""


def _settings(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield ``key value`` for each setting that has a value and is not shown elsewhere, also for nested ones."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _settings(value)
        elif value not in (None, [], "") and key not in _ELSEWHERE:
            yield f"{single_line(key)} {value_text(value)}"


def offered_text(episode: Episode) -> str:
    """Return how many operations and how many further tools the model could call, as text."""
    from world_api.operations import OPERATIONS

    names = {item.get("function", {}).get("name") for item in episode.tools} - {SUBMIT_ANSWER, READ_MORE}
    operations = len(names & OPERATIONS.keys())
    parts = [plural(operations, "operation")] if operations else []
    parts += [plural(len(names) - operations, "further tool")] if len(names) > operations else []
    return " and ".join(parts) + " on offer" if parts else "nothing to call"


def _ending(episode: Episode) -> Iterator[str]:
    value = "none of its type" if episode.value is None else value_text(episode.value, 200)
    sources = (", ".join(episode.tools_that_gave(span)) for span in episode.spans)
    cited = [f"from {source}" if source else "! RETURNED BY NO TOOL" for source in sources]
    spans = [f"{span_text(vars(span))}  {source}" for span, source in zip(episode.spans, cited, strict=True)]
    ended = episode.outcome + (f": {episode.reason}" if episode.reason is not None else "")
    calls = episode.tool_calls
    own = sum(call.round == 0 for call in calls)
    work = [plural(len(episode.rounds), "round"), f"{plural(len(calls) - own, 'call')} by the model"]
    work += [f"{own:,} by the system"] if own else []
    work += [f"{sum(len(call.inner_calls) for call in calls):,} inside tools"]
    work += [f"{episode.timings.seconds:.2f} s"] if episode.timings is not None else []
    return _fields(
        ("answer", episode.answer or "none"),
        ("value", value if episode.task.question.kind != "open" else ""),
        *(("" if place else "evidence", span) for place, span in enumerate(spans)),
        *(("" if place else "uncertain", doubt_text(doubt)) for place, doubt in enumerate(doubts_of(episode))),
        ("ended", ended + (f" ({episode.fault.message})" if episode.fault is not None else "")),
        ("work", ", ".join(work)),
        ("slips", slips_text(episode)),
        ("note", watermark(episode) or ""),
    )
