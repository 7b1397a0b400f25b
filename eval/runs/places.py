"""Where everything of a run lies.

::

    RUN/config.yaml             the configuration, as it was given
    RUN/manifest.json           versions, hashes, cells, datasets, libraries, seeds, model: what the run is
    RUN/items.jsonl             the questions that are asked, with their answers, one a line
    RUN/samples.jsonl           append-only, one line for each finished sample (a question in a cell)
    RUN/scores.jsonl            one line a sample; made anew by ``eval score``
    RUN/verdicts.jsonl          what a judge of open answers said; what it holds is not asked again
    RUN/episodes/CELL/          the episodes of a cell: a journal of the controller
    RUN/libraries/NAME/         the libraries: control arms that the run made, and copies of the others
    RUN/report/                 what ``eval report`` wrote
    RUN/local.json              where this machine has what the configuration names by path; in no bundle
    RUN/.lock                   held by the processes that ask
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run, by its parts."""

    root: Path

    @property
    def config(self) -> Path:
        """The configuration as it was given."""
        return self.root / "config.yaml"

    @property
    def manifest(self) -> Path:
        """What the run is."""
        return self.root / "manifest.json"

    @property
    def items(self) -> Path:
        """The questions."""
        return self.root / "items.jsonl"

    @property
    def samples(self) -> Path:
        """What is finished."""
        return self.root / "samples.jsonl"

    @property
    def scores(self) -> Path:
        """The scores."""
        return self.root / "scores.jsonl"

    @property
    def local(self) -> Path:
        """Where things are on this machine."""
        return self.root / "local.json"

    @property
    def lock(self) -> Path:
        """Held by those who ask."""
        return self.root / ".lock"

    @property
    def episodes(self) -> Path:
        """The journals of all cells."""
        return self.root / "episodes"

    @property
    def verdicts(self) -> Path:
        """What a judge of open answers said."""
        return self.root / "verdicts.jsonl"

    @property
    def libraries(self) -> Path:
        """The libraries of the run, by their names in it."""
        return self.root / "libraries"

    @property
    def report(self) -> Path:
        """What was written of it."""
        return self.root / "report"

    def journal(self, cell_id: str) -> Path:
        """The journal of a cell."""
        return self.episodes / cell_id
