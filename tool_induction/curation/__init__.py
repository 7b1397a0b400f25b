"""Work on frozen libraries: reviews, forks, comparisons, exports for other programs, and arms of an experiment.

``review_library`` shows a library with an example run of each tool; ``fork_library`` freezes an edited copy that
records its lineage; ``make_arm`` freezes the library of an arm, such as random composites or placebos.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
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

__getattr__, __dir__, __all__ = lazy_names(__name__)
