"""What a run rests on: which words its operations judged, and what they could not tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tool_induction.aggregates.functions import span_of
from tool_induction.language.evaluation import Json
from tool_induction.runtime.presenting import cited_as
from world_api.core.spans import TimeSpan

#: A reason names at most so many words, a record so many stretches.
_MOST_WORDS, _MOST_STRETCHES = 8, 8
_WORDS, _STRETCHES = ("matched", "unmatched", "not_judged"), ("not_found", "not_examined")


@dataclass
class Judged:
    """Gathers what operations say of the words they were asked with; each word and each stretch once, in order."""

    parts: dict[str, list[Json]] = field(default_factory=dict)
    found: bool = False
    #: The evidence of items that fit all words, and of items that do not, with the words they lack.
    fitting: set[str] = field(default_factory=set)
    lacking: dict[str, list[str]] = field(default_factory=dict)

    def note(self, result: Mapping[str, Json]) -> None:
        """Add what one result of an operation says."""
        for key in _WORDS:
            self._add(key, (word for word in _listed(result, key) if isinstance(word, str)))
        for key in _STRETCHES:
            self._add(key, (span for span in _listed(result, key) if isinstance(span, dict)))
        unused = [
            word for key in ("unmatched", "unused_words") for word in _listed(result, key) if isinstance(word, str)
        ]
        self._add("unmatched", unused)
        # Where the words that were judged leave nothing, the others make no difference.
        self._add("doubted", () if _listed(result, "not_found") else unused)
        for item in (result, *(item for rows in result.values() if isinstance(rows, list) for item in rows)):
            if isinstance(item, dict) and "lacks" in item:
                self._note_item(item)
        self.found = self.found or (bool(_listed(result, "matched")) and not _listed(result, "not_found"))

    def merge(self, other: Judged) -> None:
        """Add what a called tool rests on."""
        for key, values in other.parts.items():
            self._add(key, values)
        self.found = self.found or other.found
        self.fitting |= other.fitting
        self.lacking.update(other.lacking)

    def rest_on(self, evidence: Iterable[Json]) -> None:
        """Doubt the words that are lacking where only an item that lacks them gave some of this evidence."""
        for piece in evidence:
            if isinstance(piece, dict) and (key := cited_as(piece)) not in self.fitting:
                self._add("lacks", self.lacking.get(key, []))

    def _note_item(self, item: Mapping[str, Json]) -> None:
        words = [word for word in _listed(item, "lacks") if isinstance(word, str)]
        pieces = [cited_as(piece) for piece in _listed(item, "evidence") if isinstance(piece, dict)]
        if not words:
            self.fitting |= set(pieces)
        elif pieces:
            self.lacking.update(dict.fromkeys(pieces, words))
        else:
            self._add("lacks", words)

    @property
    def reason(self) -> str:
        """Why nothing sure can be said; empty where every word was judged wherever it was asked for."""
        told = [
            f"{what}: {_named(words)}"
            for what, words in (
                ("not judged", self._words("not_judged", "doubted")),
                ("not seen to fit", self._words("lacks")),
            )
            if words
        ]
        if self.parts.get("not_examined"):
            told.append("not all that was asked for was examined")
        return f"cannot tell ({'; '.join(told)})" if told else ""

    def record(self, notes: list[str]) -> dict[str, Json]:
        """The part of a result's envelope; what is left out is noted. What was not found is told where nothing was found."""
        unmatched = self._words("unmatched", "lacks")
        words = {
            "matched": [word for word in self._words("matched") if word not in unmatched],
            "unmatched": unmatched,
            "not_judged": self._words("not_judged"),
        }
        record: dict[str, Json] = {key: list(value) for key, value in words.items() if value}
        for key in _STRETCHES:
            spans = [] if key == "not_found" and self.found else _merged(self.parts.get(key, []))
            if spans:
                record[key] = spans[:_MOST_STRETCHES]
            if len(spans) > _MOST_STRETCHES:
                notes.append(f"judged: {_MOST_STRETCHES} of {len(spans)} stretches of {key} are shown")
        return record

    def _words(self, *keys: str) -> list[str]:
        return list(dict.fromkeys(str(word) for key in keys for word in self.parts.get(key, ())))

    def _add(self, key: str, values: Iterable[Json]) -> None:
        kept = self.parts.setdefault(key, [])
        kept.extend(value for value in values if value not in kept)


def _named(words: list[str]) -> str:
    more = f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
    return ", ".join(words[:_MOST_WORDS]) + more


def _listed(result: Mapping[str, Json], key: str) -> list[Json]:
    value = result.get(key)
    return value if isinstance(value, list) else []


def _merged(spans: list[Json]) -> list[Json]:
    """Stretches in time order, those that touch joined."""
    found = sorted(span for one in spans if isinstance(one, dict) and (span := span_of(one)) is not None)
    joined: list[TimeSpan] = []
    for span in found:
        if joined and span.start <= joined[-1].end:
            joined[-1] = TimeSpan(start=joined[-1].start, end=max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return [{"start_time": span.start, "end_time": span.end} for span in joined]
