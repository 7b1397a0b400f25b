"""The position of one path in the text of a document."""

from tool_induction.compiler import locate_all
from tool_induction.compiler.source import Position


def locate(text: str, path: tuple[str | int, ...]) -> Position | None:
    """The position of the value at a path; None where it is not there."""
    return locate_all(text, [path]).get(path)
