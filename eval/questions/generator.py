"""Generate the questions of a film: word drafts, and select them so that types and answers are balanced."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from controller.answers import Question
from eval.datasets.items import SCHEMA_VERSION, Item, item_record
from eval.datasets.loading import DATASET_FILE, QUESTIONS_FILE, load_folder
from eval.questions import locate_count, order_cause, summary_multihop
from eval.questions.drafts import Asker, Draft, FilmIndex, Maker, facts_within, windows_of
from eval.questions.pairs import PAIR, absent_twin, by_name, known_names, unknown_names
from eval.questions.phrasing import Unsayable, Wording, spoken, wording
from eval.sandbox.facts import FilmFacts
from eval.scoring.scorers import ABSENCE
from tool_induction.domains.domain import PLACEHOLDER, SplitName
from tool_induction.domains.domain_file import load_domain
from world_api.core.faults import EvalFault
from world_api.core.files import exclusive, hash_bytes, write_atomically
from world_api.core.spans import TimeSpan
from world_api.core.vocabulary import content_words

#: The share of questions in Chinese, if there are Chinese words for everything in them.
CHINESE_SHARE = 0.25
#: The share of questions about something that is not in the film, each the twin of one about what is (``pairs``).
ABSENT_SHARE = 0.2
#: The share of questions that name a person by a name that the film does not show, and of those by one that it shows.
NAMED_SHARE = 0.1
#: domain -> type of question -> its maker
MAKERS: Mapping[str, Mapping[str, Maker]] = {
    "A_locate_count": locate_count.MAKERS,
    "B_order_cause": order_cause.MAKERS,
    "C_summary_multihop": summary_multihop.MAKERS,
}
#: The protocol of a dataset of generated films, to be published beside a figure. ``version`` is increased when the same
#: facts no longer give the same questions.
PROTOCOL: Mapping[str, Any] = {
    "scoring": {"choice": "choice/1", "count": "count/1", "interval": "interval/1", "order": "order/1"},
    "may_abstain": True,
    "questions": {
        "version": 3,
        "absent_share": ABSENT_SHARE,
        "named_share": NAMED_SHARE,
        "made_from": "templates of the task domains, by split; answers from the film's facts",
        "domains": "the task domain of the template; content is the theme of the film",
        "chinese_share": CHINESE_SHARE,
        "blind": "videoworld sandbox prior FOLDER",
    },
}
#: Questions per domain: the least number, seconds of film for each further one, the largest number.
_AT_LEAST, _SECONDS_EACH, _MOST = 10, 60.0, 40
#: The largest share of one question type, and a number that is always allowed.
_SHARE, _FEW = 0.2, 2
#: The number of options of a choice, if there are enough; and of a choice between two events.
_OPTIONS, _PAIR = 4, 2


def questions_of(facts: FilmFacts, *, seed: int, split: SplitName, per_domain: int | None = None) -> tuple[Item, ...]:
    """Return questions of the domains A, B and C about a film, with their answers and evidence intervals.

    The words are those of the domains' templates for the split; without templates there are no questions. Every
    question has one answer, and no answer is a borderline case. The same facts, seed and split give the same questions.
    ``per_domain`` is the largest number per domain; by default ten, plus one per minute, at most forty.
    """
    wanted = per_domain if per_domain is not None else min(_MOST, _AT_LEAST + int(facts.duration / _SECONDS_EACH))
    film, english = FilmIndex(facts), Wording(facts)
    windows = [(window, FilmIndex(facts_within(facts, window))) for window in windows_of(facts)]
    found: list[Item] = []
    for name, makers in MAKERS.items():
        chance = random.Random(f"questions {facts.film} {facts.seed} {seed} {split} {name}")
        ask = Asker(film=film, domain=_domain(name), split=split, chance=chance, most=max(12, wanted * 2))
        queues = [_in_turns(_drafts(ask, *maker), chance, english) for maker in makers.items()]
        taken = _taken(ask, queues, wanted)
        if windows and len(taken) < wanted:
            for queue, maker in zip(queues, makers.items(), strict=True):
                queue.extend(_in_turns(_within(ask, *maker, windows), chance, english))
            taken = _taken(ask, queues, wanted)
        found += taken
    return tuple(found)


_domain = lru_cache(load_domain)


# -- which drafts, in which order


def _drafts(ask: Asker, kind: str, make: Maker) -> list[Draft]:
    """Return the drafts of a question type (``kind``: its id) that ``make`` yields from each of its templates."""
    types = (item for item in ask.domain.question_types if item.id == kind)
    askers = (replace(ask, template=template) for item in types for template in item.of(ask.split))
    return [draft for one in askers for draft in make(one)]


def _within(ask: Asker, kind: str, make: Maker, windows: Sequence[tuple[TimeSpan, FilmIndex]]) -> list[Draft]:
    """Return drafts about windows of the film, with evidence inside the window; each window has the same limit."""
    share = math.ceil(ask.most / len(windows))
    found: list[Draft] = []
    for window, film in windows:
        drafts = [
            replace(draft, window=window)
            for draft in _drafts(replace(ask, film=film, most=max(12, share)), kind, make)
            if "part" not in draft.slots  # "a third of the video" has no meaning within a window
            and all(window.start <= span.start and span.end <= window.end for span in draft.spans)
        ]
        found += ask.some(drafts, share)
    return found


def _in_turns(drafts: list[Draft], chance: random.Random, words: Wording) -> list[Draft]:
    """Return the drafts in random order, alternating between templates, and within a template between buckets or answers."""
    chance.shuffle(drafts)
    by_template: dict[str, dict[str, list[Draft]]] = {}
    for draft in drafts:
        buckets = by_template.setdefault(draft.template.id, {})
        buckets.setdefault(draft.bucket or (spoken(draft.right, words) if draft.right else ""), []).append(draft)
    rows = []
    for buckets in by_template.values():
        names = sorted(buckets)
        chance.shuffle(names)
        rows.append(_alternating([buckets[name] for name in names]))
    return _alternating(rows)


def _alternating(rows: Sequence[Sequence[Draft]]) -> list[Draft]:
    """Return the first draft of each row, then the second of each, and so on."""
    return [draft for turn in zip_longest(*rows) for draft in turn if draft is not None]


def _taken(ask: Asker, queues: Sequence[Sequence[Draft]], wanted: int) -> list[Item]:
    """Return up to ``wanted`` questions, in turn from the ``queues`` (one per type, each limited), no text twice.

    The last of them are about what is not in the film.
    """
    worder = _Worder(ask)
    twins = math.ceil(wanted * ABSENT_SHARE) if wanted > 1 else 0
    wanted -= twins
    most = max(_FEW, math.ceil(wanted * _SHARE))
    left = [islice(worder.items(queue), most) for queue in queues if queue]
    ask.chance.shuffle(left)
    found: list[Item] = []
    while left and len(found) < wanted:
        for queue in list(left):
            item = next(queue, None)
            if item is None:
                left.remove(queue)
            elif len(found) < wanted:
                found.append(_numbered(item, len(found) + 1))
    chance = random.Random(f"pairs {found[0].id} {wanted}" if found else "")
    twins = min(twins, math.ceil(len(found) * ABSENT_SHARE / (1 - ABSENT_SHARE)))
    for item in chance.sample(found, len(found)):
        if twins and (twin := worder.twin(item, chance)) is not None:
            found.append(_numbered(twin, len(found) + 1))
            twins -= 1
    return worder.some_named(found, chance, most=math.ceil(wanted * NAMED_SHARE))


def _numbered(item: Item, number: int) -> Item:
    """Return a question with its id, by film, domain and number: ``sandbox-test-0007.A03.event_time``."""
    return replace(item, id=f"{item.video_id}.{(item.domain or '')[:1]}{number:02d}.{item.labels['type']}")


# -- words and options


class _Worder:
    """Words drafts and chooses their options, so that only the film shows which one is right."""

    def __init__(self, ask: Asker) -> None:
        self._ask = ask
        self._chance = ask.chance
        self._english, self._chinese = Wording(ask.film.facts), wording("zh", ask.film.facts)
        self._drafts: dict[str, Draft] = {}  #: by the text of their questions
        self._places: dict[int, list[int]] = {}

    def items(self, queue: Sequence[Draft]) -> Iterator[Item]:
        """Yield questions from the drafts that can be worded; their ids are not final."""
        for draft in queue:
            facts = self._ask.film.facts
            found = self._in_some_language(draft)
            if found is None or found[0].text in self._drafts:
                continue
            question, answer, language = found
            self._drafts[question.text] = draft
            labels = {"type": draft.template.id.partition("/")[0], "language": language}
            if labels["type"] == "presence":
                labels[ABSENCE] = question.letters[1]  # "no": it is not there
            yield Item(
                id=facts.film,
                video_id=facts.film,
                question=question,
                answer=answer,
                spans=tuple(dict.fromkeys(draft.spans)),  # an event may be first and last at once
                domain=self._ask.domain.name,
                content=facts.extras.get("theme"),
                template=draft.template.id,
                split=self._ask.split,
                labels=labels,
            )

    def twin(self, item: Item, chance: random.Random) -> Item | None:
        """Return a question of ``items`` with one thing changed that then is not in the film; None if nothing can be."""
        twin = absent_twin(self._ask, item, self._drafts[item.question.text], self._words(item), chance)
        if twin is None or twin.question.text in self._drafts or item.answer == 0:
            return None
        self._drafts[twin.question.text] = self._drafts[item.question.text]
        return twin

    def some_named(self, items: list[Item], chance: random.Random, *, most: int) -> list[Item]:
        """Return the questions, up to ``most`` of them with a name that the film shows, and each again with one that it does not.

        The latter take the places of other questions. Questions of minimal pairs stay as they are.
        """
        facts, paired = self._ask.film.facts, {item.labels.get(PAIR) for item in items}
        names, strange = known_names(facts), unknown_names(facts)
        people = [person.id for person in facts.people]
        named = list(items)
        free = [place for place, item in enumerate(items) if PAIR not in item.labels and item.id not in paired]
        for place in chance.sample(free, len(free)) if strange else ():
            item = items[place]
            draft, words = self._drafts[item.question.text], self._words(item)
            known = by_name(item, draft, words, names, known=True)
            unknown = by_name(item, draft, words, dict.fromkeys(people, chance.choice(strange)), known=False)
            others = [other for other in free if other != place and named[other] is items[other]]
            if most and known and unknown and others and named[place] is item:
                other = chance.choice(others)
                named[place], named[other] = known, _numbered(unknown, other + 1)
                most -= 1
        return named

    def _words(self, item: Item) -> Wording:
        return self._chinese if item.labels["language"] == "zh" else self._english

    def _in_some_language(self, draft: Draft) -> tuple[Question, Any, str] | None:
        """Return what ``_worded`` returns: for a random share of drafts in Chinese if Chinese has the words, else in English.

        None also if no language has the words.
        """
        languages: list[Wording] = [self._chinese] if self._chance.random() < CHINESE_SHARE else []
        for words in (*languages, self._english):
            with suppress(Unsayable):
                return self._worded(draft, words)
        return None

    def _worded(self, draft: Draft, words: Wording) -> tuple[Question, Any, str] | None:
        """Return the question, its answer and its language; None if there are too few good options.

        Raises Unsayable: the language lacks the template or a word.
        """
        template = draft.template.zh if words.language == "zh" else draft.template.en
        if not template:
            raise Unsayable(draft.template.id)
        text = PLACEHOLDER.sub(
            lambda match: match.group() if match.group(1) == "events" else draft.slots[match.group(1)](words), template
        )
        answer: Any = draft.answer
        options: tuple[str, ...] = ()
        if draft.kind == "choice":
            found = self._choice(draft, text, words)
            if found is None:
                return None
            options, answer = found
        elif draft.kind == "order":
            in_order = [part(words) for part in draft.order]
            options = tuple(self._chance.sample(in_order, len(in_order)))
            if len(set(options)) < len(options):
                return None
            lettered = (f"({'ABCDEFGH'[place]}) {part}" for place, part in enumerate(options))
            text = text.replace("{events}", words.fill("letters").join(lettered))
            answer = in_order
        if draft.window is not None:
            text = words.fill("within", str(round(draft.window.start)), str(round(draft.window.end)), text)
        question = Question(text=text, kind=draft.kind, options=options, may_abstain=True)
        if draft.kind == "order":
            answer = [question.letters[options.index(part)] for part in answer]
        elif draft.kind == "choice":
            answer = question.letters[options.index(answer)]
        return question, answer, words.language

    def _choice(self, draft: Draft, text: str, words: Wording) -> tuple[tuple[str, ...], str] | None:
        """Return the texts of the options and of the right one; ``text`` is the question's. None if too few are good."""
        if draft.right is None:
            return None
        right = draft.right(words)
        if draft.is_fixed:
            return words.yes_no, right
        said = [dict.fromkeys(spoken(part, words) for part in tier) for tier in draft.wrong]
        # No option contains the right one, or is a part of it.
        tiers = [[part for part in tier if part and part not in right and right not in part] for tier in said]
        if draft.is_crossed:
            wrong = [part for tier in tiers for part in tier]
            wrong = wrong if len(wrong) == _OPTIONS - 1 else []
        else:
            wrong = self._as_likely(text, right, tiers, fewest=draft.fewest)
        if not wrong:
            return None
        options = self._chance.sample(wrong, len(wrong))
        options.insert(self._place_among(len(options) + 1), right)
        return tuple(options), right

    def _place_among(self, options: int) -> int:
        """Return the index for the right option, such that each index comes equally often."""
        left = self._places.setdefault(options, [])
        if not left:
            left.extend(self._chance.sample(range(options), options))
        return left.pop()

    def _as_likely(self, text: str, right: str, tiers: Sequence[Sequence[str]], *, fewest: int) -> list[str]:
        """Return wrong options that repeat the same words of the question (``text``) as the right one; empty if too few.

        An option that mentions the question's room, person or thing, if the right one does not (or the reverse), would
        give the answer away. The first tiers that suffice supply all options: one similar option among dissimilar ones
        would show that the right one is one of the similar pair.
        """
        named = set(content_words(text))
        mine = named & set(content_words(right))
        every = list(dict.fromkeys(part for tier in tiers for part in tier))
        wanted = min(_OPTIONS, len(every) + 1) - 1
        if wanted + 1 == fewest == _PAIR:  # the question names both
            return every
        fair: list[str] = []
        for tier in tiers:
            same = (part for part in tier if named & set(content_words(part)) == mine)
            fair = list(dict.fromkeys([*fair, *same]))
            if len(fair) >= wanted:
                break
        return self._chance.sample(fair, min(wanted, len(fair))) if len(fair) + 1 >= fewest else []


def add_questions(
    folder: Path | str, video: Path | str, video_id: str, items: Sequence[Item], *, work: Path | str
) -> int:
    """Write a film's questions to its folder's ``questions.jsonl`` and ``dataset.json``, in place of its earlier ones.

    Return the number of questions of the whole dataset; if it is 0, nothing is written. A film without questions is
    listed too if others have some. ``work`` is the folder of the lock, for films made at the same time. Raises
    EvalFault: ``bad_dataset``, ``dataset_unreadable``, ``dataset_too_large``, ``other_schema_version``: the present
    dataset cannot be extended; StoreFault: ``store_not_writable``, ``disk_full``.
    """
    folder, video = Path(folder), Path(video)
    with exclusive(Path(work), hash_bytes(DATASET_FILE.encode())):
        name, protocol = "sandbox", dict(PROTOCOL)
        videos: dict[str, Any] = {}
        kept: list[Item] = []
        if (folder / DATASET_FILE).is_file():
            present = load_folder(folder)
            name, protocol = present.name, dict(present.protocol)
            kept = [item for item in present.items if item.video_id != video_id]
            if items and protocol.get("questions") != PROTOCOL["questions"]:
                if kept:
                    hint = "make films in a new folder: figures over two versions of the questions cannot be compared"
                    raise EvalFault("bad_dataset", f"{folder} has questions of another version", hint=hint)
                protocol |= PROTOCOL
            paths = {key: found.path for key, found in present.videos.items() if found.path is not None}
            videos = {key: {"file": path.relative_to(folder).as_posix()} for key, path in paths.items()}
        everything = sorted([*kept, *items], key=lambda item: item.video_id)
        if not everything:
            return 0
        videos[video_id] = {"file": video.name}
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "name": name,
            "questions": QUESTIONS_FILE,
            "videos": dict(sorted(videos.items())),
            **({"protocol": protocol} if protocol else {}),
        }
        lines = [json.dumps(item_record(item), ensure_ascii=False) + "\n" for item in everything]
        write_atomically(folder / QUESTIONS_FILE, "".join(lines).encode())
        write_atomically(folder / DATASET_FILE, (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode())
    return len(everything)
