"""Experiments: configurations, plans, runs that can be continued, their files, scores and bundles.

``open_experiment`` reads a configuration (or the folder of a run); ``run_experiment`` builds missing worlds, asks the
unfinished questions and records every episode. ``read_run`` reads a run, ``score_run`` scores it, ``estimate_run``
estimates its cost, ``pack`` writes it into one file and ``open_bundle`` unpacks that file.
"""

from eval.runs.bundle import CONTENTS, FILES, Contents, PackedFile, contents_of, head, open_bundle, pack
from eval.runs.configuration import EXAMPLE, ConfigurationDocument, DatasetPart, read_configuration
from eval.runs.estimate import RunEstimate, building_of, estimate_run
from eval.runs.executor import SubprocessWorker
from eval.runs.experiment import RunOutcome, open_experiment, run_experiment
from eval.runs.plan import Picked, RunPlan, WorldNeeded, make_plan, pick_all, spread
from eval.runs.records import Arm, Cell, DatasetRecord, RunFolder, SampleLine, ScoreLine, read_lines, read_manifest
from eval.runs.scheduler import Tally
from eval.runs.scoring import score_run
from eval.runs.stored_run import Run, read_run
from eval.runs.worlds import build_for_run, open_ladder, operations_on

__all__ = [
    "CONTENTS", "EXAMPLE", "FILES", "Arm", "Cell", "ConfigurationDocument", "Contents", "DatasetPart",
    "DatasetRecord", "PackedFile", "Picked", "Run", "RunEstimate", "RunFolder", "RunOutcome", "RunPlan",
    "SampleLine", "ScoreLine", "SubprocessWorker", "Tally", "WorldNeeded", "build_for_run", "building_of",
    "contents_of", "estimate_run", "head", "make_plan", "open_bundle", "open_experiment", "open_ladder",
    "operations_on", "pack", "pick_all", "read_configuration", "read_lines", "read_manifest", "read_run",
    "run_experiment", "score_run", "spread",
]  # fmt: skip
