"""Work on frozen libraries: reviews for people, forks and comparisons, exports for other programs, and arms of an experiment.

``review_library`` shows a library with an example run of each tool; ``fork_library`` freezes an edited copy that records its
lineage; ``make_arm`` freezes the library of an experiment's arm, such as random composites or placebos.
"""

from tool_induction.curation.arms import ARM_KINDS, composites_like, make_arm, placebo_of
from tool_induction.curation.examples import (
    IMAGINED,
    ExampleRuns,
    Format,
    example_arguments,
    formatted_tools,
    material_of,
)
from tool_induction.curation.fork import Edits, Fork, compared, comparison_text, fork_library
from tool_induction.curation.review import plan_lines, review_html, review_library, review_text

__all__ = [
    "ARM_KINDS",
    "IMAGINED",
    "Edits",
    "ExampleRuns",
    "Fork",
    "Format",
    "compared",
    "comparison_text",
    "composites_like",
    "example_arguments",
    "fork_library",
    "formatted_tools",
    "make_arm",
    "material_of",
    "placebo_of",
    "plan_lines",
    "review_html",
    "review_library",
    "review_text",
]
