"""All limits of the tool language.

A document is written by a language model; nothing in it may make the compiler or the runtime slow or large.
"""

from __future__ import annotations

MAX_DOCUMENT_BYTES = 1_000_000
MAX_JSON_DEPTH = 40
MAX_JSON_PARTS = 50_000  #: values of one document, inner ones counted
MAX_TOOLS = 64
MAX_STEPS = 60  #: steps of one block
MAX_TOOL_STEPS = 300  #: steps of one tool, those in blocks counted
MAX_FINDINGS = 300  #: findings listed of one tool
MAX_SUGGESTIONS = 60  #: findings of one tool for which a near word is looked for
MAX_INPUTS = 16
MAX_OUTPUTS = 24
MAX_FIELDS = 100  #: parameters of one call, fields of one projection
MAX_VALUES = 5_000  #: values (and text by the line) under one key of a tool or a step
MAX_TEXT = 4_000  #: characters of one literal string of a document

MAX_EXPRESSION_CHARACTERS = 512
MAX_EXPRESSION_NODES = 64
MAX_EXPRESSION_DEPTH = 12
MAX_NUMBER = 1e15  #: magnitude of a constant and of any arithmetic result
MAX_VALUE_DEPTH = 100  #: how deep a value of a run may be nested
MAX_SAMPLES = 2_000  #: moments of one sample_times
MAX_STRING_RESULT = 20_000  #: characters an expression may produce

MAX_TYPE_PARTS = 5_000  #: parts of a type; a larger one is not followed
MAX_LOOP_DEPTH = 2
MAX_TOOL_DEPTH = 3
MAX_LOOP_ITEMS = 200  #: the largest max_items that may be asked for
DEFAULT_LOOP_ITEMS = 50  #: written out where a list of an operation has no bound of its own
DEFAULT_LIST_ITEMS = 50  #: how long such a list is taken to be at most
TYPICAL_LIST_ITEMS = 5  #: how long such a list is expected to be
MAX_PLANNED_CALLS = 1_000  #: atomic calls one tool may need at most

MIN_ANSWERS, MAX_ANSWERS = 2, 8  #: of a judge step
MAX_ANSWER_CHARACTERS = 40  #: of one answer
MAX_ANSWERS_CHARACTERS = 200  #: of all answers together
MAX_JUDGED_ITEMS = 100  #: the largest max_items of a judge step
DEFAULT_JUDGED_ITEMS = 20  #: written out where it says none
MAX_PLANNED_TOKENS = 200_000  #: tokens of models that judge or look that one tool may need at most

#: calls that tools on a session may have under way at a time; more would only wait for each other where they compute
AT_A_TIME = 4
