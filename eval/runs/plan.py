"""The plan of a run: questions, cells and worlds of a configuration, and all checks before a run starts."""

from __future__ import annotations

import functools
import platform
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

from controller.conversation import LANGUAGES, Prompts
from controller.episode import refuse_unpriced
from controller.records.journal import loop_hash
from controller.systems.tool_systems import build_system, own_system, system_names
from eval.datasets.items import Dataset, Item, VideoFile, item_record
from eval.datasets.loading import load_dataset
from eval.runs.configuration import ArmPart, Configuration, ConfigurationDocument, DatasetPart
from eval.runs.executor import SampleRunner, domain_named
from eval.runs.libraries import libraries_of, library_record, name_of
from eval.runs.records import Arm, Cell, DatasetRecord, LibraryRecord, RunFolder, RunManifest, Sample
from eval.runs.worlds import can_be_built, hash_of, profiles_of
from eval.scoring.scorers import check_protocol
from tool_induction.domains.domain import PlannedQuestion, SplitName, refuse_leaks, refuse_seen
from tool_induction.library import ToolLibrary, check_groups_on, groups_needed, operations_used
from world_api.chat.rule_based import RULE_BASED
from world_api.core.canonical import content_hash
from world_api.core.faults import EvalFault, ToolFault, VideoWorldError
from world_api.core.ports import Clock
from world_api.installation import project_version
from world_api.operations import CATEGORIES, WITHOUT

#: The systems that send pictures in every episode.
_NEED_IMAGES = frozenset({"direct"})
_MAX_REASONS, _OTHER_REASONS = 20, "other reasons"


@dataclass(frozen=True, kw_only=True)
class Picked:
    """The questions of one dataset that a run asks; ``part`` of the configuration selects them."""

    name: str
    part: DatasetPart
    dataset: Dataset
    items: tuple[Item, ...]

    @property
    def videos(self) -> tuple[str, ...]:
        """The videos of the questions, in the order of the questions."""
        return tuple(dict.fromkeys(item.video_id for item in self.items))

    @property
    def left_out(self) -> dict[str, int]:
        """Number of entries of the dataset's file that cannot be asked, by reason; the rarest are counted together."""
        counts = Counter(entry.reason for entry in self.dataset.left_out)
        listed = dict(counts.most_common(_MAX_REASONS))
        others = counts.total() - sum(listed.values())
        return listed | ({_OTHER_REASONS: others} if others else {})


def pick_all(configuration: Configuration) -> list[Picked]:
    """Return the datasets of a configuration with the questions to ask, in its order.

    Raises EvalFault: ``bad_configuration``: a repeated name, a domain without questions, no questions left; the faults
    of loading a dataset.
    """
    found: dict[str, Picked] = {}
    for number, part in enumerate(configuration.document.datasets):
        picked = _picked(configuration, number, part)
        if picked.name in found:
            what = f"two datasets are named {picked.name!r}"
            raise configuration.bad(("datasets", number), what, hint="give one of them a `name`")
        found[picked.name] = picked
    return list(found.values())


def _picked(configuration: Configuration, number: int, part: DatasetPart) -> Picked:
    dataset = load_dataset(
        _source(configuration, part.path),
        videos=configuration.path(part.videos) if part.videos is not None else None,
        annotations=configuration.path(part.annotations) if part.annotations is not None else None,
    )
    items = [item for item in dataset.items if part.split is None or item.split == part.split]
    if not items:
        splits = sorted({item.split or "no split" for item in dataset.items})
        what = f"{dataset.name} has no question of {part.split!r}"
        raise configuration.bad(("datasets", number), what, hint="it has: " + ", ".join(splits))
    if part.domains is not None:
        known = sorted({item.domain for item in items if item.domain is not None})
        for place, name in enumerate(part.domains):
            if name not in known:
                what = f"no question is of the domain {name!r}"
                key = ("datasets", number, "domains", place)
                raise configuration.unknown(key, what, name, known, listed="the domains are")
        items = [item for item in items if item.domain in part.domains]
    if part.limit is not None:
        items = spread(items, part.limit)
    return Picked(name=part.name or dataset.name, part=part, dataset=dataset, items=tuple(items))


def _source(configuration: Configuration, path: str) -> Path | str:
    """Return the path relative to the configuration if it exists; else a name, or ``ADAPTER:FILE`` with such a path."""
    there = configuration.path(path)
    if there.exists():
        return there
    adapter, colon, file = path.partition(":")
    return f"{adapter}:{configuration.path(file)}" if colon and file else path


def spread(items: Sequence[Item], limit: int) -> list[Item]:
    """Return ``limit`` questions in input order, picked in turns among groups of the same video and domain.

    It is deterministic: a larger limit adds questions to those of a smaller one.
    """
    groups: dict[tuple[str, str | None], list[int]] = {}
    for number, item in enumerate(items):
        groups.setdefault((item.video_id, item.domain), []).append(number)
    turns = [number for turn in zip_longest(*groups.values()) for number in turn if number is not None]
    return [items[number] for number in sorted(turns[:limit])]


@functools.cache
def prompts_hash() -> str:
    """Return the hash over all prompts that an episode may use, in every language."""
    from tool_induction.inducer.prompt_builder import InducerPrompts

    return content_hash([*(Prompts(language).hash for language in LANGUAGES), InducerPrompts().hash])


def cells_of(
    configuration: Configuration, picked: Sequence[Picked], libraries: Mapping[str, ToolLibrary], runner: SampleRunner
) -> list[Cell]:
    """Return all cells, in the order of the configuration.

    Raises EvalFault: ``bad_configuration``: an unknown system, library or world, or a repeated name.
    """
    document = configuration.document
    _check_names(configuration)
    arms = [arm for place, part in enumerate(document.arms) for arm in _arms(configuration, place, part, libraries)]
    cells = []
    for arm, one, world, budget, seed in product(arms, picked, document.worlds, document.budgets, document.seeds):
        decides: dict[str, Any] = {
            "system": arm.system,
            "settings": dict(arm.settings),
            "groups": sorted(arm.groups),
            "library": arm.library_hash,
            "model": document.model,
            "request": document.request.model_dump(exclude_none=True),
            "budget": runner.budget(budget).record(),
            "language": document.language,
            "prompts": prompts_hash(),
            "tool_judge": document.tool_judge.model if document.tool_judge is not None else None,
            "perception": document.perception.model_dump() if document.perception is not None else None,
        }
        kind = own_system(arm.system)
        if kind is not None and kind.shows_domain:
            domains = {item.domain: domain.hash for item in one.items if (domain := domain_named(item.domain))}
            decides["domains"] = dict(sorted(domains.items(), key=lambda pair: str(pair[0])))
        names = {"dataset": one.name, "world": world, "budget": budget, "model": document.model}
        cells.append(Cell(arm=arm, seed=seed, configuration=content_hash(decides), **names))
    return cells


def _arms(
    configuration: Configuration, place: int, part: ArmPart, libraries: Mapping[str, ToolLibrary]
) -> Iterator[Arm]:
    """Yield an arm with each of its libraries; once, without a library, if its system uses none."""
    known = system_names()
    if part.system not in known:
        what = f"there is no system {part.system[:64]!r}"
        raise configuration.unknown(("arms", place), what, part.system, known, listed="one of")
    kind = own_system(part.system)
    takes = kind.uses_library if kind is not None else part.libraries is not None
    if part.libraries is not None and not takes:
        raise configuration.bad(("arms", place, "libraries"), f"the system {part.system!r} takes no library")
    settings = part.settings | ({} if part.exposure is None else {"exposure": part.exposure})
    if "split" in settings:
        key = ("arms", place, "settings", "split")
        raise configuration.bad(key, "the split is the question's", hint="give the dataset a `split`")
    groups = (*part.groups, *(f"{WITHOUT}{category}" for category in configuration.document.without))
    plain = Arm(name=part.name, system=part.system, settings=settings, groups=groups)
    if not takes:
        yield plain
        return
    names = part.libraries or list(libraries)
    if not names:
        what = f"the system {part.system!r} needs a tool library"
        raise configuration.bad(("arms", place), what, hint="add `libraries: [hand_A]`")
    for number, name in enumerate(names):
        if name not in libraries:
            what = f"no library of this configuration is named {name!r}"
            raise configuration.unknown(("arms", place, "libraries", number), what, name, list(libraries))
        used = operations_used(libraries[name].tools)
        for group in sorted(set(groups_needed(used)) - set(part.groups)):
            what = f"the library {name!r} needs the group {group!r}"
            raise configuration.bad(("arms", place), what, hint=f"add groups: [{group}]")
        try:
            check_groups_on(name, used, groups)
        except ToolFault as fault:
            raise configuration.bad(("without",), fault.message, hint=fault.hint) from None
        yield replace(plain, library=name, library_hash=libraries[name].hash)


def _check_names(configuration: Configuration) -> None:
    document = configuration.document
    for place, category in enumerate(document.without):
        if category not in CATEGORIES:
            what = f"there is no category of operations {category!r}"
            raise configuration.unknown(("without", place), what, category, list(CATEGORIES))
    for place, arm in enumerate(document.arms):
        if any(group.startswith(WITHOUT) for group in arm.groups):
            hint = "leave it out for all of them: `without: [memory]`"
            raise configuration.bad(("arms", place, "groups"), "a category is left out for one arm only", hint=hint)
    for key, values in (
        ("arms", [arm.name for arm in document.arms]),
        ("worlds", document.worlds),
        ("seeds", document.seeds),
    ):
        for place, value in enumerate(values):
            if value in values[:place]:
                what = f"{value!r} is there twice"
                raise configuration.bad((key, place), what, hint="give each once, or another name")
    for place, world in enumerate(document.worlds):
        try:
            profiles_of(world)
        except EvalFault as fault:
            raise configuration.bad(("worlds", place), fault.message, hint=fault.hint) from None


def check_primary(configuration: Configuration, picked: Sequence[Picked], cells: Sequence[Cell]) -> None:
    """Check that the primary contrast names parts of the run, and that it is clear which samples are paired.

    Raises EvalFault: ``bad_configuration``, at the key.
    """
    document = configuration.document
    primary, arms = document.primary, [arm.name for arm in document.arms]
    if primary is None:
        return
    compared = [one for one in picked if primary.dataset in (None, one.name)]
    domains = sorted({item.domain for one in compared for item in one.items if item.domain})
    for key, value, names, what in (
        ("arm", primary.arm, arms, "no arm is named"),
        ("against", primary.against, arms, "no arm is named"),
        ("budget", primary.budget, list(document.budgets), "no budget is named"),
        ("world", primary.world, document.worlds, "no world is named"),
        ("dataset", primary.dataset, [one.name for one in picked], "no dataset is named"),
        ("domain", primary.domain, domains, "no question that is asked is of the domain"),
        ("library", primary.library, _libraries_of_arm(cells, primary.arm), "the arm is run with no library"),
    ):
        if value is not None and value not in names:
            raise configuration.unknown(("primary", key), f"{what} {value!r}", value, names)
    if primary.arm == primary.against:
        hint = "name another arm; `arms` may have one system twice, under two names"
        raise configuration.bad(("primary", "against"), f"{primary.against!r} is compared with itself", hint=hint)
    # Each sample of the arm has one partner: the one with the same library, or the only one.
    ours, theirs = _libraries_of_arm(cells, primary.arm), _libraries_of_arm(cells, primary.against)
    if primary.library is not None:
        ours = [primary.library]
    if len(theirs) > 1 and not set(ours) & set(theirs):
        what = f"the arm {primary.against!r} has {len(theirs)} libraries, and which of them {primary.arm!r} is compared"
        hint = f"give an arm `libraries: [{theirs[0]}]` and compare with that one"
        raise configuration.bad(("primary", "against"), f"{what} with is not said", hint=hint)


def _libraries_of_arm(cells: Sequence[Cell], arm: str) -> list[str]:
    """Return the names of the libraries that an arm is run with."""
    names = (cell.arm.library for cell in cells if cell.arm.name == arm)
    return list(dict.fromkeys(name for name in names if name is not None))


def check_runnable(
    configuration: Configuration,
    cells: Sequence[Cell],
    picked: Sequence[Picked],
    libraries: Mapping[str, ToolLibrary],
    runner: SampleRunner,
) -> None:
    """Check that every arm can be built, that scorers exist, and that questions are allowed for the libraries.

    Raises EvalFault: ``images_needed``, as ``check_protocol``; the faults of building an arm, naming its place in the
    file; EpisodeFault: ``no_price``; ToolFault: ``split_leak``, ``no_such_template``.
    """
    arms = [arm.name for arm in configuration.document.arms]
    questions = {one.name: one for one in picked}
    for cell in {(cell.arm.name, cell.arm.library, cell.dataset, cell.budget): cell for cell in cells}.values():
        if cell.arm.system in _NEED_IMAGES and (cell.model == RULE_BASED or runner.takes_images is False):
            what = f"the arm {cell.arm.name!r} sends pictures, and {cell.model} takes none"
            raise EvalFault("images_needed", what, hint="leave the arm out, or name a model that takes pictures")
        for item in {item.domain: item for item in questions[cell.dataset].items}.values():
            try:
                context = runner.context(cell, item)
                refuse_unpriced(context.budget, context.model.name, context.prices)
                build_system(cell.arm.system, context)
            except VideoWorldError as fault:
                place = ("arms", arms.index(cell.arm.name))
                fault.message = f"{configuration.where(*place)}: the arm {cell.arm.name!r}: {fault.message}"
                raise
    for one in picked:
        check_protocol(one.dataset.protocol)
        used = dict.fromkeys(cell.arm.library for cell in cells if cell.dataset == one.name)
        check_splits(one, [libraries[name] for name in used if name is not None])


def check_splits(picked: Picked, libraries: Sequence[ToolLibrary]) -> None:
    """Check that no question's video or template belongs to another split, or was seen by a library's induction.

    The first check needs a split and a packaged domain. In the second, a question without a split counts as one of
    ``test``. Raises ToolFault: ``split_leak``, ``no_such_template``.
    """
    groups: dict[tuple[str | None, SplitName | None], list[PlannedQuestion]] = {}
    for item in picked.items:
        known = PlannedQuestion(video_id=item.video_id, question=item.question.text, template=item.template or "")
        groups.setdefault((item.domain, item.split), []).append(known)
    for (name, split), questions in groups.items():
        try:
            domain = domain_named(name)
            if domain is not None and split is not None:
                for manifest in (None, *(library.manifest for library in libraries)):
                    refuse_leaks(domain, split, questions, library=manifest)
            for library in libraries:
                refuse_seen(questions, split=split or "test", library=library.manifest, domain=name)
        except ToolFault as fault:
            fault.message = f"{picked.name}: {fault.message}"
            raise


@dataclass(frozen=True, kw_only=True)
class WorldNeeded:
    """A world that a run needs; ``hash`` is None if it has to be built."""

    video: VideoFile
    profile: str
    hash: str | None


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The samples of a run. ``items`` are by dataset; ``missing`` are the videos whose questions are left out."""

    configuration: Configuration
    cells: Sequence[Cell]
    picked: Sequence[Picked]
    items: Mapping[str, tuple[Item, ...]]
    missing: Mapping[str, tuple[str, ...]]
    library_records: Mapping[str, LibraryRecord]
    worlds: Sequence[WorldNeeded]

    def samples(self) -> Iterator[Sample]:
        """Yield all samples, by video and then by world, so that each open world is used while it is cached."""
        videos = dict.fromkeys(item.video_id for items in self.items.values() for item in items)
        worlds = dict.fromkeys(cell.world for cell in self.cells)
        places = {key: number for number, key in enumerate(product(videos, worlds))}
        samples = (Sample(cell=cell, item=item) for cell in self.cells for item in self.items[cell.dataset])
        yield from sorted(samples, key=lambda sample: places[sample.item.video_id, sample.cell.world])

    @property
    def count(self) -> int:
        """Number of samples."""
        return sum(len(self.items[cell.dataset]) for cell in self.cells)

    def manifest(self, worlds: Mapping[str, Mapping[str, str]]) -> RunManifest:
        """Return the manifest of the run; ``worlds`` are the hashes of its worlds by video and profile."""
        document = self.configuration.document
        return RunManifest(
            versions={"video-world-api": project_version(), "python": platform.python_version()},
            git=_commit(Path(__file__)),
            name=document.name or Path(self.configuration.name).stem,
            model=document.model,
            rule_based=document.model == RULE_BASED,
            seeds=tuple(document.seeds),
            budgets={name: part.model_dump(exclude_none=True) for name, part in document.budgets.items()},
            primary=document.primary.model_dump() if document.primary is not None else None,
            datasets={one.name: self._dataset_record(one) for one in self.picked},
            libraries=self.library_records,
            cells=tuple(self.cells),
            worlds=worlds,
            prompts=prompts_hash(),
            loop=loop_hash(),
            overrides=self.configuration.overrides,
            settings=_settings(document),
        )

    def _dataset_record(self, one: Picked) -> DatasetRecord:
        items, missing = self.items[one.name], self.missing[one.name]
        return DatasetRecord(
            hash=one.dataset.hash,
            picked=content_hash([item_record(item) for item in items]),
            split=one.part.split,
            limit=one.part.limit,
            domains=tuple(one.part.domains) if one.part.domains is not None else None,
            protocol=dict(one.dataset.protocol),
            items=len(items),
            missing=missing,
            missing_hash=content_hash(list(missing)),
            missing_questions=len(one.items) - len(items),
            left_out=one.left_out,
        )


def _settings(document: ConfigurationDocument) -> dict[str, Any]:
    """Return those of language, request, perception and the two judges that the configuration gives."""
    parts = ("language", "request", "tool_judge", "perception", "judge")
    given = document.model_dump(include=set(parts), exclude_none=True)
    return {name: given[name] for name in parts if given.get(name)}


def make_plan(
    configuration: Configuration,
    folder: RunFolder,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    copies: bool = False,
) -> tuple[RunPlan, SampleRunner]:
    """Return the plan of a configuration, and the runner of its checks. Control arms are made in the run's folder.

    ``copies``: use the libraries that the run's folder holds.

    Raises EvalFault: ``bad_configuration``, ``nothing_to_ask``, ``images_needed``; the faults of datasets; ToolFault:
    ``split_leak``, the faults of libraries; EpisodeFault: ``no_price``, the faults of a system; BackendFault: the model
    or the prices.
    """
    picked = pick_all(configuration)
    libraries = libraries_of(configuration, folder.libraries, date=clock.now()[:10], copies=copies)
    runner = SampleRunner(configuration, folder, libraries=libraries, clock=clock, environment=environment)
    cells = cells_of(configuration, picked, libraries, runner)
    check_primary(configuration, picked, cells)
    used = {cell.arm.library for cell in cells}
    named = {name_of(part): part for part in configuration.document.libraries if name_of(part) in used}
    profiles = list(dict.fromkeys(profile for cell in cells for profile in profiles_of(cell.world)))
    worlds, missing = _worlds(configuration.store, profiles, picked)
    items = {one.name: tuple(item for item in one.items if item.video_id not in missing[one.name]) for one in picked}
    for name in (name for name, asked in items.items() if not asked):
        what = f"no question of {name} can be asked: its videos are not there, and no worlds of them"
        raise EvalFault("nothing_to_ask", what, hint="`videoworld eval check` names the videos that are missing")
    check_runnable(configuration, cells, picked, libraries, runner)
    plan = RunPlan(
        configuration=configuration,
        cells=cells,
        picked=picked,
        items=items,
        missing=missing,
        library_records={name: library_record(libraries[name], part) for name, part in named.items()},
        worlds=worlds,
    )
    return plan, runner


def _worlds(
    store: Path, profiles: Sequence[str], picked: Sequence[Picked]
) -> tuple[list[WorldNeeded], dict[str, tuple[str, ...]]]:
    """Return the needed worlds, and by dataset the videos for which one of them neither exists nor can be built."""
    needed: dict[tuple[str, str], WorldNeeded] = {}
    missing: dict[str, tuple[str, ...]] = {}
    for one in picked:
        absent = []
        for video_id in one.videos:
            video = one.dataset.videos.get(video_id, VideoFile(video_id=video_id))
            found = [
                WorldNeeded(video=video, profile=profile, hash=hash_of(store, profile, video)) for profile in profiles
            ]
            if all(world.hash is not None or can_be_built(world.profile, video) for world in found):
                needed |= {(video_id, world.profile): world for world in found}
            else:
                absent.append(video_id)
        missing[one.name] = tuple(sorted(absent))
    return list(needed.values()), missing


def _commit(file: Path) -> str | None:
    """Return the commit of the running code, with ``-dirty`` if files are changed; None outside a checkout."""
    git = partial(subprocess.run, cwd=file.parent, capture_output=True, text=True, check=False, timeout=10)
    with suppress(OSError, subprocess.TimeoutExpired):
        # If the file is not tracked, the package is installed, maybe inside another checkout.
        if git(["git", "ls-files", "--error-unmatch", file.name]).returncode == 0:
            described = git(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
            return described.stdout.strip() or None if described.returncode == 0 else None
    return None
