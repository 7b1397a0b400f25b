"""The plan of a run: questions, cells and worlds of a configuration, and every check that refuses a run before it starts."""

from __future__ import annotations

import functools
import platform
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from controller.prompts import LANGUAGES, Prompts
from controller.records.conditions import loop_hash
from controller.records.recorder import refuse_unpriced
from controller.systems.registry import build_system, own_system, system_names
from eval.datasets.items import Dataset, Item, VideoFile, item_record
from eval.datasets.loading import load_dataset
from eval.runs.configuration import ArmPart, Configuration, ConfigurationDocument, DatasetPart
from eval.runs.executor import SampleRunner, domain_named
from eval.runs.libraries import libraries_of
from eval.runs.records import Arm, Cell, DatasetRecord, LibraryRecord, Manifest, RunFolder, Sample
from eval.runs.worlds import can_be_built, hash_of, profiles_of
from eval.scoring.scorers import check_protocol
from tool_induction.domains.domain import SplitName
from tool_induction.domains.guard import PlannedQuestion, refuse_leaks, refuse_seen
from tool_induction.library import ToolLibrary, groups_needed, operations_used
from world_api.chat.rule_based import RULE_BASED
from world_api.core.canonical import content_hash
from world_api.core.faults import EvalFault, ToolFault, VideoWorldError
from world_api.core.ports import Clock
from world_api.installation import project_version

#: The systems that send pictures in every episode.
_NEED_IMAGES = frozenset({"direct"})
_MAX_REASONS, _OTHER_REASONS = 20, "other reasons"


@dataclass(frozen=True, kw_only=True)
class Picked:
    """The questions of one dataset that a run asks, and the name of the dataset in the run; ``part`` selected them."""

    name: str
    part: DatasetPart
    dataset: Dataset
    items: tuple[Item, ...]

    @property
    def videos(self) -> tuple[str, ...]:
        """The videos that are asked about, in the order of the questions."""
        return tuple(dict.fromkeys(item.video_id for item in self.items))

    @property
    def left_out(self) -> dict[str, int]:
        """How many entries of the dataset's file cannot be asked, by reason; rare reasons, where there are many, together."""
        counts = Counter(entry.reason for entry in self.dataset.left_out)
        listed = dict(counts.most_common(_MAX_REASONS))
        others = counts.total() - sum(listed.values())
        return listed | ({_OTHER_REASONS: others} if others else {})


def pick_all(configuration: Configuration) -> list[Picked]:
    """The datasets of a configuration, in its order.

    Raises:
        EvalFault: ``bad_configuration``: a repeated name, a domain without questions, no questions left;
            what loading a dataset raises.
    """
    found: list[Picked] = []
    for place, part in enumerate(configuration.document.datasets):
        picked = _picked(configuration, place, part)
        if picked.name in {item.name for item in found}:
            raise configuration.bad(
                ("datasets", place), f"two datasets are named {picked.name!r}", hint="give one of them a `name`"
            )
        found.append(picked)
    return found


def _picked(configuration: Configuration, place: int, part: DatasetPart) -> Picked:
    dataset = load_dataset(
        _source(configuration, part.path),
        videos=configuration.path(part.videos) if part.videos is not None else None,
        annotations=configuration.path(part.annotations) if part.annotations is not None else None,
    )
    items = [item for item in dataset.items if part.split is None or item.split == part.split]
    if not items:
        splits = sorted({item.split or "no split" for item in dataset.items})
        raise configuration.bad(
            ("datasets", place),
            f"{dataset.name} has no question of {part.split!r}",
            hint="it has: " + ", ".join(splits),
        )
    if part.domains is not None:
        items = _of_domains(configuration, place, part.domains, items)
    if part.limit is not None:
        items = spread(items, part.limit)
    return Picked(name=part.name or dataset.name, part=part, dataset=dataset, items=tuple(items))


def _source(configuration: Configuration, path: str) -> Path | str:
    """A path beside the configuration, where something is there; else a name, or ``ADAPTER:FILE`` with the file beside it."""
    there = configuration.path(path)
    if there.exists():
        return there
    adapter, colon, file = path.partition(":")
    return f"{adapter}:{configuration.path(file)}" if colon and file else path


def _of_domains(configuration: Configuration, place: int, names: Sequence[str], items: list[Item]) -> list[Item]:
    known = sorted({item.domain for item in items if item.domain is not None})
    for number, name in enumerate(names):
        if name not in known:
            what = f"no question is of the domain {name!r}"
            place_of_name = ("datasets", place, "domains", number)
            raise configuration.unknown(place_of_name, what, name, known, listed="the domains are")
    return [item for item in items if item.domain in names]


def spread(items: Sequence[Item], limit: int) -> list[Item]:
    """Pick ``limit`` questions in total, round-robin by video and domain, in input order.

    Deterministic: a larger limit adds questions to those of a smaller one.
    """
    groups: dict[tuple[str, str | None], list[int]] = {}
    for number, item in enumerate(items):
        groups.setdefault((item.video_id, item.domain), []).append(number)
    taken: list[int] = []
    longest = max(map(len, groups.values()), default=0)
    for turn in range(longest):
        taken += [numbers[turn] for numbers in groups.values() if turn < len(numbers)]
    return [items[number] for number in sorted(taken[:limit])]


@functools.cache
def prompts_hash() -> str:
    """Over all prompts that an episode may use, in every language."""
    from tool_induction.inducer.prompt_builder import InducerPrompts

    return content_hash([*(Prompts(language).hash for language in LANGUAGES), InducerPrompts().hash])


def cells_of(
    configuration: Configuration,
    picked: Sequence[Picked],
    libraries: Mapping[str, ToolLibrary],
    runner: SampleRunner,
) -> list[Cell]:
    """All cells, in the order of the configuration.

    Raises:
        EvalFault: ``bad_configuration``: an unknown system, library or world, or a repeated name.
    """
    document = configuration.document
    _check_names(configuration)
    arms = [arm for place, part in enumerate(document.arms) for arm in _arms(configuration, place, part, libraries)]
    cells = []
    for arm, one, world, budget, seed in product(arms, picked, document.worlds, document.budgets, document.seeds):
        limits = runner.budget(budget)
        decides: dict[str, Any] = {
            "system": arm.system,
            "settings": dict(arm.settings),
            "groups": sorted(arm.groups),
            "library": arm.library_hash,
            "model": document.model,
            "request": document.request.model_dump(exclude_none=True),
            "budget": limits.record(),
            "language": document.language,
            "prompts": prompts_hash(),
            "tool_judge": document.tool_judge.model if document.tool_judge is not None else None,
            "perception": document.perception.model_dump() if document.perception is not None else None,
        }
        kind = own_system(arm.system)
        if kind is not None and kind.shows_domain:
            domains = {item.domain: domain.hash for item in one.items if (domain := domain_named(item.domain))}
            decides["domains"] = dict(sorted(domains.items(), key=lambda pair: str(pair[0])))
        cells.append(
            Cell(
                arm=arm,
                dataset=one.name,
                world=world,
                budget=budget,
                seed=seed,
                model=document.model,
                configuration=content_hash(decides),
            )
        )
    _check_ids(configuration, cells)
    return cells


def _check_ids(configuration: Configuration, cells: Sequence[Cell]) -> None:
    """Refuse cells that share an id: their episodes would be in one folder, and the run could not be read."""
    seen: set[str] = set()
    for cell in cells:
        if cell.id.casefold() in seen:
            names = [arm.name for arm in configuration.document.arms]
            raise configuration.bad(
                ("arms", names.index(cell.arm.name)),
                f"two cells of the run would be called {cell.id}",
                hint="give the arm another name",
            )
        seen.add(cell.id.casefold())


def _arms(
    configuration: Configuration, place: int, part: ArmPart, libraries: Mapping[str, ToolLibrary]
) -> Iterator[Arm]:
    """An arm with each library it takes; once where it takes none."""
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
        raise configuration.bad(
            ("arms", place, "settings", "split"), "the split is the question's", hint="give the dataset a `split`"
        )
    given: dict[str, Any] = {
        "name": part.name,
        "system": part.system,
        "settings": settings,
        "groups": tuple(part.groups),
    }
    if not takes:
        yield Arm(**given)
        return
    names = part.libraries or list(libraries)
    if not names:
        raise configuration.bad(
            ("arms", place), f"the system {part.system!r} needs a tool library", hint="add `libraries: [hand_A]`"
        )
    for number, name in enumerate(names):
        if name not in libraries:
            what = f"no library of this configuration is named {name!r}"
            raise configuration.unknown(("arms", place, "libraries", number), what, name, list(libraries))
        off = sorted(set(groups_needed(operations_used(libraries[name].tools))) - set(part.groups))
        if off:
            raise configuration.bad(
                ("arms", place), f"the library {name!r} needs the group {off[0]!r}", hint=f"add groups: [{off[0]}]"
            )
        yield Arm(**given, library=name, library_hash=libraries[name].hash)


def _check_names(configuration: Configuration) -> None:
    document = configuration.document
    for key, values in (
        ("arms", [arm.name for arm in document.arms]),
        ("worlds", document.worlds),
        ("seeds", document.seeds),
    ):
        for place, value in enumerate(values):
            if value in values[:place]:
                raise configuration.bad(
                    (key, place), f"{value!r} is there twice", hint="give each once, or another name"
                )
    for place, world in enumerate(document.worlds):
        try:
            profiles_of(world)
        except EvalFault as fault:
            raise configuration.bad(("worlds", place), fault.message, hint=fault.hint) from None


def check_primary(configuration: Configuration, picked: Sequence[Picked], cells: Sequence[Cell]) -> None:
    """Refuse a primary contrast that names nothing of the run, or more than one pair of arms, before anything is paid for.

    Raises:
        EvalFault: ``bad_configuration``, at the key that names nothing of this run, or leaves open which samples are paired.
    """
    primary = configuration.document.primary
    if primary is None:
        return
    document = configuration.document
    arms = [arm.name for arm in document.arms]
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
        raise configuration.bad(
            ("primary", "against"),
            f"{primary.against!r} is compared with itself",
            hint="name another arm; `arms` may have one system twice, under two names",
        )
    # Each sample of the arm has one partner: that with the same library, or the only one there is.
    ours, theirs = _libraries_of_arm(cells, primary.arm), _libraries_of_arm(cells, primary.against)
    if primary.library is not None:
        ours = [primary.library]
    if len(theirs) > 1 and not set(ours) & set(theirs):
        raise configuration.bad(
            ("primary", "against"),
            f"the arm {primary.against!r} has {len(theirs)} libraries, and which of them {primary.arm!r} is compared "
            "with is not said",
            hint=f"give an arm `libraries: [{theirs[0]}]` and compare with that one",
        )


def _libraries_of_arm(cells: Sequence[Cell], arm: str) -> list[str]:
    """The libraries that an arm is run with."""
    names = (cell.arm.library for cell in cells if cell.arm.name == arm)
    return list(dict.fromkeys(name for name in names if name is not None))


def check_runnable(
    configuration: Configuration,
    cells: Sequence[Cell],
    picked: Sequence[Picked],
    libraries: Mapping[str, ToolLibrary],
    runner: SampleRunner,
) -> None:
    """Refuse arms that cannot be built and questions that would measure nothing.

    Raises:
        EvalFault: ``bad_configuration``, at the arm that cannot be built; ``images_needed``.
        EpisodeFault: ``no_price``.
        ToolFault: ``split_leak``, ``no_such_template``.
    """
    arms = [arm.name for arm in configuration.document.arms]
    questions = {one.name: one for one in picked}
    seen: set[tuple[str, str | None, str, str, str | None]] = set()
    for cell in cells:
        if cell.arm.system in _NEED_IMAGES and (cell.model == RULE_BASED or runner.takes_images is False):
            raise EvalFault(
                "images_needed",
                f"the arm {cell.arm.name!r} sends pictures, and {cell.model} takes none",
                hint="leave the arm out, or name a model that takes pictures",
            )
        for item in questions[cell.dataset].items:
            key = (cell.arm.name, cell.arm.library, cell.dataset, cell.budget, item.domain)
            if key in seen:
                continue
            seen.add(key)
            try:
                context = runner.context(cell, item)
                refuse_unpriced(context)
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
    """Refuse questions whose video or template belongs to another split than theirs, or was seen by a library's induction.

    The first asks for a split and a domain that is packaged; what an induction saw is looked at for every question, one
    without a split taken for one of ``test``.

    Raises:
        ToolFault: ``split_leak``, ``no_such_template``.
    """
    groups: dict[tuple[str | None, SplitName | None], list[PlannedQuestion]] = {}
    for item in picked.items:
        known = PlannedQuestion(video_id=item.video_id, question=item.question.text, template=item.template or "")
        groups.setdefault((item.domain, item.split), []).append(known)
    for (name, split), questions in groups.items():
        try:
            domain = domain_named(name)
            if domain is not None and split is not None:
                refuse_leaks(domain, split, questions)
            for library in libraries:
                manifest = library.manifest
                refuse_seen(questions, split=split or "test", library=manifest, domain=name)
                if domain is not None and split is not None:
                    refuse_leaks(domain, split, questions, library=manifest)
        except ToolFault as fault:
            fault.message = f"{picked.name}: {fault.message}"
            raise


@dataclass(frozen=True, kw_only=True)
class WorldNeeded:
    """A world that a run needs; ``hash`` None: it has to be built."""

    video: VideoFile
    profile: str
    hash: str | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The samples of a run. ``items`` are by dataset; ``missing`` are videos whose questions are left out."""

    configuration: Configuration
    cells: Sequence[Cell]
    picked: Sequence[Picked]
    items: Mapping[str, tuple[Item, ...]]
    missing: Mapping[str, tuple[str, ...]]
    library_records: Mapping[str, LibraryRecord]
    worlds: Sequence[WorldNeeded]

    def samples(self) -> Iterator[Sample]:
        """All samples, video by video and world by world, so that an open world is used while it is cached."""
        videos = dict.fromkeys(item.video_id for items in self.items.values() for item in items)
        worlds = dict.fromkeys(cell.world for cell in self.cells)
        by_video: dict[tuple[str, str], list[Item]] = {}
        for name, items in self.items.items():
            for item in items:
                by_video.setdefault((name, item.video_id), []).append(item)
        for video in videos:
            for world in worlds:
                for cell in self.cells:
                    if cell.world == world:
                        for item in by_video.get((cell.dataset, video), ()):
                            yield Sample(cell=cell, item=item)

    @property
    def count(self) -> int:
        """How many samples there are."""
        return sum(len(self.items[cell.dataset]) for cell in self.cells)

    def manifest(self, worlds: Mapping[str, Mapping[str, str]]) -> Manifest:
        """The manifest of the run, with the hashes of its worlds by video and profile."""
        document = self.configuration.document
        primary = document.primary.model_dump() if document.primary is not None else None
        return Manifest(
            versions={"video-world-api": project_version(), "python": platform.python_version()},
            git=_commit(Path(__file__)),
            name=document.name or Path(self.configuration.name).stem,
            model=document.model,
            rule_based=document.model == RULE_BASED,
            seeds=tuple(document.seeds),
            budgets={name: part.model_dump(exclude_none=True) for name, part in document.budgets.items()},
            primary=primary,
            datasets={
                one.name: DatasetRecord(
                    hash=one.dataset.hash,
                    picked=content_hash([item_record(item) for item in self.items[one.name]]),
                    split=one.part.split,
                    limit=one.part.limit,
                    domains=tuple(one.part.domains) if one.part.domains is not None else None,
                    protocol=dict(one.dataset.protocol),
                    items=len(self.items[one.name]),
                    missing=self.missing[one.name],
                    missing_hash=content_hash(list(self.missing[one.name])),
                    missing_questions=len(one.items) - len(self.items[one.name]),
                    left_out=one.left_out,
                )
                for one in self.picked
            },
            libraries=self.library_records,
            cells=tuple(self.cells),
            worlds=worlds,
            prompts=prompts_hash(),
            loop=loop_hash(),
            overrides=self.configuration.overrides,
            settings=_settings(document),
        )


def _settings(document: ConfigurationDocument) -> dict[str, Any]:
    """The other settings that decide what an episode does and how it is scored."""
    parts = {name: getattr(document, name) for name in ("request", "tool_judge", "perception", "judge")}
    given = {name: part.model_dump(exclude_none=True) for name, part in parts.items() if part is not None}
    return {"language": document.language, **{name: part for name, part in given.items() if part}}


def make_plan(
    configuration: Configuration,
    folder: RunFolder,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    copies: bool = False,
) -> tuple[Plan, SampleRunner]:
    """The plan of a configuration, and the runner that its checks used. Control arms are made in the run's folder.

    ``copies``: the libraries are those that the run keeps.

    Raises:
        EvalFault: ``bad_configuration``, ``nothing_to_ask``, ``images_needed``; what datasets name.
        ToolFault: ``split_leak``; what libraries name.
        EpisodeFault: ``no_price``; what a system refuses.
        BackendFault: the model or the prices.
    """
    picked = pick_all(configuration)
    found = libraries_of(configuration, folder.libraries, date=clock.now()[:10], copies=copies)
    runner = SampleRunner(configuration, folder, libraries=found.libraries, clock=clock, environment=environment)
    cells = cells_of(configuration, picked, found.libraries, runner)
    check_primary(configuration, picked, cells)
    used = {cell.arm.library for cell in cells}
    profiles = list(dict.fromkeys(profile for cell in cells for profile in profiles_of(cell.world)))
    store = configuration.store
    worlds, missing = _worlds(store, profiles, picked)
    items = {one.name: tuple(item for item in one.items if item.video_id not in missing[one.name]) for one in picked}
    for one in picked:
        if not items[one.name]:
            raise EvalFault(
                "nothing_to_ask",
                f"no question of {one.name} can be asked: its videos are not there, and no worlds of them",
                hint="`videoworld eval check` names the videos that are missing",
            )
    check_runnable(configuration, cells, picked, found.libraries, runner)
    plan = Plan(
        configuration=configuration,
        cells=cells,
        picked=picked,
        items=items,
        missing=missing,
        library_records={name: record for name, record in found.records.items() if name in used},
        worlds=worlds,
    )
    return plan, runner


def _worlds(
    store: Path, profiles: Sequence[str], picked: Sequence[Picked]
) -> tuple[list[WorldNeeded], dict[str, tuple[str, ...]]]:
    """The worlds that are needed, and the videos of each dataset of which one is neither there nor can be built."""
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
    """The commit of the running code, marked if it was changed since; None outside a checkout."""
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return None  # installed, maybe inside another checkout
    return _git(file.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        ran = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() or None if ran.returncode == 0 else None
