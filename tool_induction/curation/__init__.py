"""Work on frozen libraries: reviews, forks, comparisons, exports for other programs, and arms of an experiment.

``review_library`` shows a library with an example run of each tool; ``fork_library`` freezes an edited copy that
records its lineage; ``make_arm`` freezes the library of an arm, such as random composites or placebos.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from tool_induction.curation.arms import ARM_KINDS as ARM_KINDS
    from tool_induction.curation.arms import composites_like as composites_like
    from tool_induction.curation.arms import make_arm as make_arm
    from tool_induction.curation.arms import placebo_of as placebo_of
    from tool_induction.curation.examples import IMAGINED as IMAGINED
    from tool_induction.curation.examples import ExampleRuns as ExampleRuns
    from tool_induction.curation.examples import Format as Format
    from tool_induction.curation.examples import example_arguments as example_arguments
    from tool_induction.curation.examples import formatted_tools as formatted_tools
    from tool_induction.curation.examples import material_of as material_of
    from tool_induction.curation.fork import Edits as Edits
    from tool_induction.curation.fork import Fork as Fork
    from tool_induction.curation.fork import compared as compared
    from tool_induction.curation.fork import comparison_text as comparison_text
    from tool_induction.curation.fork import fork_library as fork_library
    from tool_induction.curation.review import plan_lines as plan_lines
    from tool_induction.curation.review import review_html as review_html
    from tool_induction.curation.review import review_library as review_library
    from tool_induction.curation.review import review_text as review_text

__getattr__, __dir__, __all__ = lazy_names(__name__)
