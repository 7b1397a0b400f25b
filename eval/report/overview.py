"""What was run, as facts: model, versions, hashes, seeds, budgets, questions, libraries, worlds; and what the page lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from controller.display import plural
from eval.report.episodes import Gathered
from eval.report.page import Fact, FactGroup, Pool
from eval.report.pictures import Gallery
from eval.runs.records import Arm, Provenance
from eval.runs.run import Run
from world_api.core.canonical import canonical, content_hash

_HASH = 12
_MANY = 24  #: values of one fact that are shown


def overview_of(run: Run) -> list[FactGroup]:
    """The facts of a run, in groups."""
    groups = [
        FactGroup(title="Run", facts=list(_run(run))),
        FactGroup(title="Questions", facts=list(_questions(run))),
        FactGroup(title="Arms", facts=list(_arms(run))),
        FactGroup(title="Tool libraries", facts=list(_libraries(run))),
        FactGroup(title="Worlds", facts=list(_worlds(run))),
        FactGroup(
            title="Budgets",
            facts=[Fact(name=name, values=[_amounts(held)]) for name, held in run.manifest.budgets.items()],
        ),
    ]
    return [group for group in groups if group.facts]


def _run(run: Run) -> Iterator[Fact]:
    manifest = run.manifest
    if manifest.name:
        yield Fact(name="name", values=[manifest.name])
    rules = (
        " (rule-based: it shows that the chain works, and nothing of what a model can do)"
        if manifest.rule_based
        else ""
    )
    yield Fact(name="model", values=[manifest.model + rules])
    yield Fact(name="finished", values=[f"{len(run.samples):,} of {plural(run.planned, 'sample')}"])
    yield Fact(name="seeds", values=[str(seed) for seed in manifest.seeds])
    primary = {key: value for key, value in (manifest.primary or {}).items() if value is not None}
    named = ", ".join(f"{key} {value}" for key, value in primary.items())
    yield Fact(name="primary contrast", values=[named or "none was named before the run"])
    yield Fact(name="versions", values=[f"{name} {version}" for name, version in manifest.versions.items()])
    if manifest.git is not None:
        yield Fact(name="git", values=[manifest.git[:40]], is_code=True)
    hashes = [("prompts", manifest.prompts), ("loop", manifest.loop), ("manifest", content_hash(manifest.record()))]
    for name, value in hashes:
        if value:
            yield Fact(name=name, values=[value[:_HASH]], is_code=True)
    if len(run.provenance) > 1:
        told = [_provenance(one, count) for one, count in run.provenance]
        yield Fact(name="asked by", values=told)
    settings = {key: value for key, value in manifest.settings.items() if value not in (None, "", [], {})}
    if settings:
        yield Fact(name="settings", values=[f"{key} {_plain(value)}" for key, value in settings.items()])
    if manifest.overrides:
        yield Fact(name="overridden", values=list(manifest.overrides))


def _provenance(one: Provenance, count: int) -> str:
    """Who asked so many of a run's samples."""
    parts = [one.git[:40] if one.git is not None else "", f"loop {one.loop[:_HASH]}", one.endpoint or ""]
    return f"{plural(count, 'sample')} of {one.planned:,} planned: " + ", ".join(part for part in parts if part)


def _questions(run: Run) -> Iterator[Fact]:
    asked = Counter(dataset for dataset, _ in run.items)
    for name, record in run.manifest.datasets.items():
        videos = {item.video_id for (dataset, _), item in run.items.items() if dataset == name}
        told = [plural(asked[name], "question") + " on " + plural(len(videos), "video"), record.hash[:_HASH]]
        if record.missing:
            lost = f"{plural(len(record.missing), 'video')} with {plural(record.missing_questions, 'question')} missing"
            told.append(f"{lost}, {record.missing_hash[:_HASH]}")
        told += [f"left out: {number:,} of its file: {reason}" for reason, number in record.left_out.items()]
        yield Fact(name=name, values=told)
        if record.protocol:
            yield Fact(
                name=f"protocol of {name}", values=[f"{key}: {_plain(value)}" for key, value in record.protocol.items()]
            )
    for title, kinds in (
        ("by domain", Counter(item.domain or "none" for item in run.items.values())),
        ("by answer type", Counter(item.question.kind for item in run.items.values())),
    ):
        yield Fact(name=title, values=[f"{kind} {number:,}" for kind, number in sorted(kinds.items())])


def _arms(run: Run) -> Iterator[Fact]:
    arms = {_name_of(cell.arm): cell.arm for cell in run.cells.values()}
    for name, arm in arms.items():
        told = [f"system {arm.system}"]
        if arm.library is not None:
            told.append(f"library {arm.library}")
        told += [f"{key} {_plain(value)}" for key, value in arm.settings.items()]
        told += [f"with {group}" for group in arm.groups]
        yield Fact(name=name, values=told)


def _name_of(arm: Arm) -> str:
    """As tables name it: an arm with two libraries is two."""
    return arm.name if arm.library is None else f"{arm.name}@{arm.library}"


def _libraries(run: Run) -> Iterator[Fact]:
    for name, record in run.manifest.libraries.items():
        told = [record.hash[:_HASH], f"domain {record.domain}" if record.domain else "", record.arm or ""]
        told += [f"of {record.of}" if record.of else "", f"seed {record.seed}" if record.seed is not None else ""]
        yield Fact(name=name, values=[part for part in told if part])


def _worlds(run: Run) -> Iterator[Fact]:
    """The worlds by how they were made; many are told by one hash over all."""
    by_profile: dict[str, dict[str, str]] = {}
    for video, made in run.manifest.worlds.items():
        for profile, value in made.items():
            by_profile.setdefault(profile, {})[video] = value
    for profile, hashes in by_profile.items():
        told = [f"{video} {value[:_HASH]}" for video, value in list(hashes.items())[:_MANY]]
        if len(hashes) > _MANY:
            told.append(f"and {len(hashes) - _MANY:,} more")
        yield Fact(name=f"{profile}, {content_hash(hashes)[:_HASH]}", values=told)


def _amounts(held: Mapping[str, float | None]) -> str:
    return ", ".join(f"{value:,g} {name}" for name, value in held.items() if value is not None) or "the usual one"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)


def notes_of(
    run: Run, gathered: Gathered, pool: Pool, gallery: Gallery, *, left_out: int, most_frames: int
) -> Iterator[str]:
    """The notes, in sentences; ``left_out`` counts moments for which there was no more room."""
    open_samples = run.planned - len(run.samples)
    if open_samples > 0:
        yield f"The run is not finished: {plural(open_samples, 'sample')} still to be asked."
    if run.unscored:
        yield f"{plural(run.unscored, 'sample')} without a score: not in this report; `videoworld eval score RUN` scores them."
    unknown = sum(not run.has_answer(sample) for sample in run.samples)
    if unknown:
        yield f"{plural(unknown, 'sample')} of questions whose answer nobody knows: shown, and in no figure."
    for reason, number in sorted(Counter(gathered.damaged.values()).items()):
        yield f"{plural(number, 'episode')} cannot be read ({reason}): counted as the tables say, and not shown."
    if pool.refused:
        yield (
            f"{plural(pool.refused, 'result')} told in a line only, so that the page stays small; the run's folder holds all whole."
        )
    if left_out:
        yield f"The page holds {most_frames:,} pictures at most; {plural(left_out, 'moment')} told without one."
    for reason, number in sorted(Counter(gallery.absent.values()).items()):
        yield f"Of {plural(number, 'video')} some moments are told by a key frame or without a picture: {reason}."
    yield "Wall times are not on this page, since they differ whenever an episode is run again; the CSV tables have them."
