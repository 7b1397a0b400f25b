"""Running one sample at a time: the runner, and workers that call it in threads or in separate processes.

With a model behind an endpoint the workers are threads, which mostly wait for it. The rule-based model needs a CPU
core, so that only processes make it faster. ``main`` runs in such a process: it reads a request per line from stdin and
writes an outcome per line to stdout.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import TypeAdapter

from controller.conversation import language_of
from controller.episode import Episode, FaultRecord, accounts_of, total
from controller.options import Budget
from controller.records.journal import Journal
from controller.records.recorder import answer, opened
from controller.systems.base import SystemContext
from eval.datasets.items import Item
from eval.runs.configuration import Configuration
from eval.runs.libraries import load_run_libraries
from eval.runs.records import Cell, RunFolder, Sample, SampleCost, SampleLine, configuration_of, read_manifest
from eval.runs.worlds import open_for
from tool_induction.domains.domain import Domain
from tool_induction.domains.domain_file import load_domain, packaged_domains
from tool_induction.library import ToolLibrary
from world_api.core.canonical import content_hash, json_line, parse_json
from world_api.core.execution import SystemClock
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.core.ports import ChatModel, Clock

if TYPE_CHECKING:
    from tool_induction.judge.judges import Judge
    from world_api.session.vision import VisionConfig

_SERVE = "from eval.runs.executor import main; main()"  #: what a worker process executes
#: Each process uses one core; libraries that start a thread for every core would slow each other down.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True, kw_only=True)
class SampleOutcome:
    """The result of one sample: the name of its recorded episode and the answer, or the fault that prevented one.

    ``failed`` is the code of the fault if there is no answer, ``checksum`` is the hash of the episode's record.
    """

    episode: str | None = None
    fault: Mapping[str, str] | None = None
    failed: str | None = None
    cost: SampleCost = field(default_factory=SampleCost)
    value: Any = None
    answer: str | None = None
    checksum: str = ""

    @classmethod
    def of(cls, episode: Episode, name: str | None) -> Self:
        """Return the outcome of a sample with an episode; ``name`` is the episode's in the journal, None if not recorded."""
        spent = total(accounts_of(episode).physical)
        return cls(
            episode=name,
            failed=episode.fault.code if episode.fault is not None else None,
            cost=SampleCost(tokens=spent.tokens, money=spent.money),
            value=episode.value,
            answer=episode.answer,
            checksum=content_hash(episode.record()),
        )

    def line(self, sample: Sample, *, held: bool = False) -> SampleLine:
        """Return the sample's line for ``samples.jsonl``; ``held``: it is not finished, only its cost counts."""
        return SampleLine(
            sample=sample.key,
            cell=sample.cell.id,
            item=sample.item.id,
            episode=self.episode,
            fault=self.fault,
            cost=self.cost,
            checksum=self.checksum,
            failed=self.failed is not None,
            held=held,
        )


_OUTCOME = TypeAdapter(SampleOutcome)


def _failed(fault: VideoWorldError) -> SampleOutcome:
    return SampleOutcome(fault=asdict(FaultRecord.of(fault)), failed=fault.code)


class SeededModel:
    """Adds the seed of a cell and the request settings of the configuration to every request.

    It wraps the request cache, so that another seed is another request there; the recording for replay wraps it.
    """

    def __init__(self, model: ChatModel, *, seed: int, request: Mapping[str, Any]) -> None:
        self.name = model.name
        self._model = model
        self._settings = {**request, "seed": seed}

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the wrapped model's reply. Raises BackendFault: that of the wrapped model."""
        return self._model.complete({**request, **self._settings})


@dataclass(eq=False)
class SampleRunner:
    """Runs samples of a run in this process; several threads may share it.

    Creating it raises BackendFault if the model or the prices are not available.
    """

    configuration: Configuration
    folder: RunFolder
    libraries: Mapping[str, ToolLibrary]
    clock: Clock
    environment: Mapping[str, str]

    def __post_init__(self) -> None:
        from world_api.chat.messages import Prices
        from world_api.chat.models import chat_model, images_and_window

        document, path = self.configuration.document, self.configuration.path
        cache = path(document.cache) if document.cache is not None else None
        self.model: ChatModel = chat_model(
            document.model, clock=self.clock, environment=self.environment, wire=document.wire, cache=cache
        )
        self.takes_images, self.window = images_and_window(document.model, environment=self.environment)
        self.prices = Prices.read(path(document.prices) if document.prices is not None else None)

    @functools.cached_property
    def judge(self) -> Judge | None:
        """The model that answers the judge steps of tools; None if the configuration names none."""
        from tool_induction.judge.judges import judge_from_options

        part = self.configuration.document.tool_judge
        if part is None:
            return None
        record = self.configuration.path(part.record) if part.record is not None else None
        return judge_from_options(True, part.model, record, clock=self.clock, environment=self.environment)

    @functools.cached_property
    def vision(self) -> VisionConfig | None:
        """The vision model of the configuration; None if it has none."""
        from world_api.api import vision_config
        from world_api.options import VisionChoices

        part = self.configuration.document.perception
        if part is None:
            return None
        chosen = VisionChoices(profile="endpoint", model=None, **part.model_dump())
        return vision_config(chosen, clock=self.clock, environment=self.environment)

    def budget(self, name: str) -> Budget:
        """Return a budget of the configuration by its name."""
        given = self.configuration.document.budgets[name].model_dump(exclude_none=True)
        return Budget(**({"window": self.window} | given))

    def context(self, cell: Cell, item: Item) -> SystemContext:
        """Return the context from which the system of a cell is built for a question.

        Raises ToolFault: the faults of loading a domain; BackendFault: the judge is not available.
        """
        document, arm = self.configuration.document, cell.arm
        domain = domain_named(item.domain)
        options = dict(arm.settings)
        if domain is not None and item.split is not None:
            options["split"] = item.split
        return SystemContext(
            model=SeededModel(self.model, seed=cell.seed, request=document.request.model_dump(exclude_none=True)),
            clock=self.clock,
            budget=self.budget(cell.budget),
            prices=self.prices,
            language=language_of(item.question.text) if document.language == "auto" else document.language,
            library=self.libraries[arm.library] if arm.library is not None else None,
            judge=self.judge,
            domain=domain,
            options=options,
            takes_images=self.takes_images,
        )

    def run(self, cell: Cell, item: Item) -> SampleOutcome:
        """Answer a question in a cell and record the episode. A fault is returned in the outcome, not raised.

        Each question gets a session of its own, whose changes are kept in memory only.
        """
        store = self.configuration.store
        try:
            session = opened(
                lambda _: open_for(store, cell.world, item, groups=cell.arm.groups, seeing=self.vision), item.question
            )
            answered = answer(
                item.question,
                session,
                system=cell.arm.system,
                context=self.context(cell, item),
                journal=Journal(self.folder.journal(cell.id)),
            )
        except VideoWorldError as fault:
            return _failed(fault)
        return SampleOutcome.of(answered.episode, answered.name)


@functools.cache
def domain_named(name: str | None) -> Domain | None:
    """Return the packaged domain of this name; None if there is none."""
    return load_domain(name) if name is not None and name in packaged_domains() else None


#: Runs one sample at a time. Raises VideoWorldError: no further sample can be run.
SampleWorker = Callable[[Cell, Item], SampleOutcome]


class SubprocessWorker:
    """Runs samples in a separate process, which is restarted if it dies; while it lives, it holds the run's lock."""

    def __init__(self, folder: RunFolder, *, lock: int, environment: Mapping[str, str]) -> None:
        self._folder, self._lock, self._environment = folder, lock, environment
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def start(self) -> None:
        """Start the process, so that its imports are done before the first sample."""
        if self._process is not None:
            return
        path = os.pathsep.join(item for item in sys.path if item)
        # The child inherits the blocked signal: Ctrl-C is handled by this process, also while the child still imports.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = subprocess.Popen(
                # -P keeps the current folder out of the import path, where a file could shadow a module.
                [sys.executable, "-P", "-c", _SERVE, str(self._folder.root.resolve())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**self._environment, **_ONE_THREAD, "PYTHONPATH": path},
                pass_fds=(self._lock,),
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def run(self, cell: Cell, item: Item) -> SampleOutcome:
        """Run a sample, once more in a new process if the process dies, and then as failed with ``worker_ended``."""
        for _ in range(2):
            line = self._exchange({"cell": cell.id, "dataset": cell.dataset, "item": item.id})
            if line is not None:
                record = parse_json(line.decode())
                if (unusable := record.get("unusable")) is not None:
                    raise EvalFault(unusable["code"], unusable["message"], hint=unusable["hint"])
                return _OUTCOME.validate_python(record)
            if self._closed:
                break
            self._end(kill=False)
        fault = EvalFault(
            "worker_ended",
            f"the process that asked {item.id} in {cell.id} ended, twice",
            hint="ask it alone with `videoworld ask`; it may want more memory than there is",
        )
        return _failed(fault)

    def close(self, *, kill: bool = False) -> None:
        """End the process after its current sample; with ``kill`` at once, so that this sample's episode is lost."""
        self._closed = True
        self._end(kill=kill)

    def _end(self, *, kill: bool) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if kill:
            process.kill()
        for pipe in filter(None, (process.stdin, process.stdout)):
            with suppress(OSError):  # the process is gone, and its end of the pipe too
                pipe.close()
        process.wait()

    def _exchange(self, request: dict[str, Any]) -> bytes | None:
        """Send a request and return the line of its reply; None if the process died."""
        self.start()
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(json_line(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            return None
        return line if line.endswith(b"\n") else None


def main() -> None:
    """Run the samples requested on stdin one after the other, and write outcomes to stdout. Ctrl-C is ignored."""
    from eval.runs.stored_run import read_items

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # it was blocked until it could be ignored
    outcomes = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not mix with outcomes

    def reply(record: Mapping[str, Any]) -> None:
        outcomes.write(json_line(record).encode() + b"\n")
        outcomes.flush()

    folder = RunFolder(Path(sys.argv[1]))
    try:
        configuration, manifest = configuration_of(folder), read_manifest(folder.manifest)
        libraries = load_run_libraries(configuration, folder.libraries, manifest.libraries)
        runner = SampleRunner(configuration, folder, libraries=libraries, clock=SystemClock(), environment=os.environ)
        cells = {cell.id: cell for cell in manifest.cells}
        items = read_items(folder)
    except VideoWorldError as fault:
        reply({"unusable": fault.record()["error"]})
        return
    for line in sys.stdin.buffer:
        wanted = parse_json(line.decode())
        outcome = runner.run(cells[wanted["cell"]], items[wanted["dataset"], wanted["item"]])
        try:
            reply(asdict(outcome))
        except BrokenPipeError:
            return  # the run was killed; when it continues, recorded episodes are adopted
