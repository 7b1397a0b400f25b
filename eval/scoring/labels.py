"""Labels of people for answers: their files, drawing answers to label, and the agreement of a judge with labels."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from eval.datasets.items import Item
from eval.scoring.kinds import AnswerJudge, AnswerVerdict, accepted_texts, given_text
from eval.scoring.scorers import AnswerToScore
from eval.statistics import Interval, Kappa, cohen_kappa, correlation, mean_interval
from world_api.core.canonical import canonical_json, content_hash, json_line, parse_json
from world_api.core.faults import EvalFault
from world_api.core.files import open_regular, write_atomically

SCHEMA_VERSION = 1
_MOST_BYTES = 64 * 1024 * 1024


class LabelledPair(BaseModel, strict=True, frozen=True):
    """An answer, the accepted ones, and whether a person calls it right; other keys of a file are ignored.

    ``category`` is the difficulty that the pair tests (``paraphrase``, ``partial``, ``injection`` ...), ``by`` the
    person who labelled it. For answers of a run ``id`` is the ``answer_key``, and ``arms`` are the arms from whose
    answers it was drawn.
    """

    id: str
    question: str
    accepted: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    answer: str
    right: bool
    category: str = ""
    language: str = ""
    video: str = ""
    by: str = ""
    arms: Annotated[tuple[str, ...], Field(strict=False)] = ()

    def record(self) -> dict[str, Any]:
        """Return the JSON form. Empty fields are omitted, except ``question``, ``answer`` and ``right``."""
        record = self.model_dump(mode="json")
        return {key: value for key, value in record.items() if value or key in ("question", "answer", "right")}


class _PairsFile(BaseModel, strict=True):
    """A file of labelled pairs."""

    schema_version: Literal[1]
    pairs: Annotated[list[LabelledPair], Field(min_length=1)]


def shipped_pairs() -> tuple[LabelledPair, ...]:
    """Return the pairs that are part of the package, in English and Chinese."""
    text = files("eval.scoring").joinpath("labelled", "pairs.json").read_text(encoding="utf-8")
    return _read(text, "pairs.json")


def read_pairs(file: Path) -> tuple[LabelledPair, ...]:
    """Read a user's labelled pairs (docs/scoring.md), with their arms from the file beside it, if it exists.

    Raises:
        EvalFault: ``bad_pairs``.
    """
    pairs = own_pairs(file)
    beside = arms_beside(file)
    if not beside.exists():
        return pairs
    try:
        arms = TypeAdapter(dict[str, list[str]]).validate_python(_json(_text(beside), beside.name), strict=True)
    except ValidationError:
        raise _bad(beside.name, "it does not say by id whose answers they are") from None
    return tuple(pair.model_copy(update={"arms": tuple(arms.get(pair.id, pair.arms))}) for pair in pairs)


def own_pairs(file: Path) -> tuple[LabelledPair, ...]:
    """Read the pairs of one file, without the arms in the file beside it.

    Raises:
        EvalFault: ``bad_pairs``.
    """
    return _read(_text(file), file.name)


def pairs_text(records: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a file of pairs, with one pair per line."""
    lines = ",\n".join("  " + json_line(dict(record)) for record in records)
    return f'{{"schema_version": {SCHEMA_VERSION}, "pairs": [\n{lines}\n]}}\n'


def arms_beside(file: Path) -> Path:
    """Return the path of the file with the arms of each pair, by id; it is separate, so that labelling is blind."""
    return file.with_name(f"{file.stem}.arms.json")


def _text(file: Path) -> str:
    try:
        with open_regular(file) as opened:
            raw = opened.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise _bad(file.name, "it is too large")
        return raw.decode()
    except (OSError, ValueError) as error:
        raise _bad(file.name, f"it cannot be read ({type(error).__name__})") from None


def _json(text: str, name: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise _bad(name, f"it is no JSON: {str(error)[:80]}") from None


def _read(text: str, name: str) -> tuple[LabelledPair, ...]:
    try:
        pairs = _PairsFile.model_validate(_json(text, name)).pairs
    except ValidationError as error:
        fault = error.errors()[0]
        part = ".".join(map(str, fault["loc"])) or "the file"
        is_null = part.endswith(".right") and fault["input"] is None
        raise _bad(name, f"{part}: {'it is null, so not labelled' if is_null else fault['msg']}") from None
    [(most, times)] = Counter(pair.id for pair in pairs).most_common(1)
    if times > 1:
        raise _bad(name, f"the id {most[:40]!r} is there twice")
    return tuple(pairs)


def _bad(name: str, why: str) -> EvalFault:
    return EvalFault(
        "bad_pairs",
        f"{name} holds no labelled pairs: {why}",
        hint='give {"schema_version": 1, "pairs": [{"id", "question", "accepted": [..], "answer", "right": true}, ...]}',
    )


#: An answer of a run, with the name of its arm.
ArmAnswer = tuple[str, AnswerToScore]


def draw_to_label(
    answers: Iterable[ArmAnswer], *, per_arm: int, seed: int
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return the JSON content of a file of pairs, with up to ``per_arm`` answers of each arm, and arm names by pair id.

    Only answers to open questions are drawn, each different answer of an arm with the same probability. One that was
    drawn from several arms is listed once, with all of them. ``right`` is null in each pair, for a person to set to
    true or false. ``seed`` sets the draw and the order.
    """
    found: dict[str, tuple[Item, str]] = {}
    of_arm: dict[str, set[str]] = {}
    for arm, one in answers:
        said = _said(one)
        if said is not None:
            key = answer_key(one.item, said)
            found.setdefault(key, (one.item, said))
            of_arm.setdefault(arm, set()).add(key)
    drawn = random.Random(seed)  # noqa: S311 - a sample, no secret
    arms: dict[str, list[str]] = {}
    for arm, own in sorted(of_arm.items()):
        for key in drawn.sample(sorted(own), min(per_arm, len(own))):
            arms.setdefault(key, []).append(arm)
    order = sorted(arms)
    drawn.shuffle(order)
    pairs = []
    for key in order:
        item, said = found[key]
        asked = {"id": key, "video": item.video_id, "question": item.question.text}
        pairs.append({**asked, "accepted": list(accepted_texts(item)), "answer": said, "right": None})
    return {"schema_version": SCHEMA_VERSION, "pairs": pairs}, arms


def write_to_label(file: Path, labels: dict[str, Any], arms: Mapping[str, list[str]]) -> None:
    """Write the pairs to ``file`` and their arms to the file beside it.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    write_atomically(arms_beside(file), (canonical_json(dict(arms)) + "\n").encode())
    write_atomically(file, pairs_text(labels["pairs"]).encode())


def of_these(answers: Iterable[ArmAnswer], pairs: Iterable[LabelledPair]) -> list[LabelledPair]:
    """Return the pairs whose id is the ``answer_key`` of one of the answers."""
    known = {answer_key(one.item, said) for _, one in answers if (said := _said(one)) is not None}
    return [pair for pair in pairs if pair.id in known]


def merged(before: Iterable[LabelledPair], taken: Iterable[LabelledPair], *, by: str) -> list[LabelledPair]:
    """Return labels of ``before`` and ``taken`` (by the person ``by``), sorted by id; of two with one id the new, with all arms."""
    found = {pair.id: pair for pair in before}
    for pair in taken:
        arms = {*pair.arms, *(found[pair.id].arms if pair.id in found else ())}
        found[pair.id] = pair.model_copy(update={"by": by or pair.by, "arms": tuple(sorted(arms))})
    return [found[key] for key in sorted(found)]


def answer_key(item: Item, said: str) -> str:
    """Return 16 hex digits that identify a question and the text of an answer (``said``); equal answers share a label."""
    question = item.question
    return content_hash([item.video_id, question.text, question.as_of, list(accepted_texts(item)), said])[:16]


def _said(one: AnswerToScore) -> str | None:
    """Return an answer's text; None if it is empty, the question is not open, or no accepted answer is known."""
    is_open = one.item.question.kind == "open" and one.item.answer is not None
    return given_text(one.value, one.answer) if is_open else None


_BIAS_DRAWS = 2_000
_Judged = list[tuple[LabelledPair, AnswerVerdict]]


@dataclass(frozen=True, kw_only=True)
class Share:
    """Numbers of judged pairs: all (``pairs``), and those judged as they were labelled (``agreed``).

    ``false_yes`` are judged right and labelled wrong, ``false_no`` the reverse. ``unreadable`` are verdicts that could not
    be read; they count as no, so each is also in ``agreed`` or ``false_no``.
    """

    pairs: int
    agreed: int
    false_yes: int
    false_no: int
    unreadable: int


@dataclass(frozen=True, kw_only=True)
class LengthBias:
    """Correlation of the judge's yes with the logarithm of the answer's length, among answers with the same label.

    0 is no bias; above 0 the judge favours longer answers. None if verdicts or lengths do not vary. ``low`` and
    ``high`` are the ends of its interval.
    """

    correlation: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement:
    """Agreement of a judge with labels: accuracy with its interval, Cohen's kappa, by category and by arm, length bias.

    The interval of the accuracy is bootstrapped over videos, or over questions for pairs without a video.
    """

    judge: str
    seed: int
    accuracy: Interval
    kappa: Kappa
    total: Share
    categories: Mapping[str, Share]
    languages: Mapping[str, Share]
    arms: Mapping[str, Share]
    arm_kappas: Mapping[str, Kappa]
    length_bias: LengthBias

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "accuracy": self.accuracy.record()}

    @property
    def text(self) -> str:
        """The agreement as text, one figure per line."""
        return "\n".join(_lines(self))


def measure_agreement(judge: AnswerJudge, pairs: Sequence[LabelledPair], *, seed: int = 0) -> JudgeAgreement:
    """Send every pair to the judge, in a seeded order, and compare the verdicts with the labels.

    Raises:
        EvalFault, BackendFault: the faults of the judge; ``nothing_to_compare``.
    """
    order = list(range(len(pairs)))
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, no secret
    verdicts = {at: judge.verdict(pairs[at].question, pairs[at].accepted, pairs[at].answer) for at in order}
    judged = [(pair, verdicts[at]) for at, pair in enumerate(pairs)]
    agreed = [float(verdict.yes == pair.right) for pair, verdict in judged]
    arms = _grouped(judged, lambda pair: pair.arms)
    return JudgeAgreement(
        judge=judge.name,
        seed=seed,
        accuracy=mean_interval(agreed, [pair.video or pair.question for pair in pairs], seed=seed, within=(0.0, 1.0)),
        kappa=_kappa(judged, seed),
        total=_share(judged),
        categories=_shares(_grouped(judged, lambda pair: (pair.category,))),
        languages=_shares(_grouped(judged, lambda pair: (pair.language,))),
        arms=_shares(arms),
        arm_kappas={name: _kappa(own, seed) for name, own in arms.items()},
        length_bias=_length_bias(judged, seed),
    )


def _length_bias(judged: _Judged, seed: int) -> LengthBias:
    """Return the correlation of verdicts with answer lengths within each label, with a percentile interval (95 %)."""
    said = np.array([float(verdict.yes) for _, verdict in judged])
    long = np.array([math.log1p(len(pair.answer)) for pair, _ in judged])
    groups = np.array([int(pair.right) for pair, _ in judged])
    found = correlation(said.tolist(), long.tolist(), groups=groups.tolist())
    drawn = np.random.default_rng(seed).integers(
        0, len(said), size=(_BIAS_DRAWS if found is not None else 0, len(said))
    )
    tried = (correlation(said[at].tolist(), long[at].tolist(), groups=groups[at].tolist()) for at in drawn)
    known = [one for one in tried if one is not None]
    low, high = (round(float(end), 4) for end in np.quantile(known, [0.025, 0.975])) if known else (None, None)
    return LengthBias(correlation=None if found is None else round(found, 4), low=low, high=high)


def _kappa(judged: _Judged, seed: int) -> Kappa:
    return cohen_kappa([verdict.yes for _, verdict in judged], [pair.right for pair, _ in judged], seed=seed)


def _shares(groups: Mapping[str, _Judged]) -> dict[str, Share]:
    return {name: _share(judged) for name, judged in groups.items()}


def _share(judged: _Judged) -> Share:
    return Share(
        pairs=len(judged),
        agreed=sum(verdict.yes == pair.right for pair, verdict in judged),
        false_yes=sum(verdict.yes and not pair.right for pair, verdict in judged),
        false_no=sum(pair.right and not verdict.yes for pair, verdict in judged),
        unreadable=sum(verdict.fault is not None for _, verdict in judged),
    )


def _grouped(judged: _Judged, of: Callable[[LabelledPair], Iterable[str]]) -> dict[str, _Judged]:
    groups: dict[str, _Judged] = {}
    for pair, verdict in judged:
        for name in filter(None, of(pair)):
            groups.setdefault(name, []).append((pair, verdict))
    return dict(sorted(groups.items()))


def _lines(found: JudgeAgreement) -> Iterator[str]:
    total, kappa, bias = found.total, found.kappa, found.length_bias
    low, high = (f"{100 * end:.1f} %" if end is not None else "-" for end in (found.accuracy.low, found.accuracy.high))
    yield (
        f"judge {found.judge}: agrees with people on {total.agreed} of {total.pairs} pairs, "
        f"{100 * found.accuracy.estimate:.1f} % [{low}, {high}]"
    )
    yield f"Cohen's kappa {_figure(kappa.kappa)} [{_figure(kappa.low)}, {_figure(kappa.high)}]"
    yield (
        f"says yes to {total.false_yes} wrong answers and no to {total.false_no} right ones; "
        f"{total.unreadable} replies could not be read"
    )
    yield (
        f"length bias (correlation of a yes with length, labels equal) {_figure(bias.correlation)} "
        f"[{_figure(bias.low)}, {_figure(bias.high)}]"
    )
    for title, groups in (("category", found.categories), ("language", found.languages), ("arm", found.arms)):
        for name, share in groups.items():
            kappa_of = f", kappa {_figure(found.arm_kappas[name].kappa)}" if title == "arm" else ""
            counts = f"(false yes {share.false_yes}, false no {share.false_no})"
            yield f"  {title} {name}: {share.agreed} of {share.pairs}{kappa_of} {counts}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
