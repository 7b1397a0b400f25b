"""How the rule-based model words its findings, in English or Chinese; it always says what it is."""

from __future__ import annotations

from world_api.core.spans import TimeSpan

MARK = "[rule-based]"


def clock(seconds: float) -> str:
    """``mm:ss``, or ``h:mm:ss`` from an hour on."""
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def marked(text: str) -> str:
    """The text under the mark of this model."""
    return f"{MARK} {text}"


def found(target: str, span: TimeSpan, detail: str, *, chinese: bool) -> str:
    """Where something was found, and what was seen there."""
    at = f"{clock(span.start)}-{clock(span.end)}"
    if chinese:
        return marked(f"“{target}”见于 {at}" + (f"：{detail}" if detail else "。"))
    return marked(f"{target!r} was found at {at}" + (f": {detail}" if detail else "."))


def not_found(target: str, *, chinese: bool) -> str:
    """That nothing was found."""
    return marked(f"没有找到“{target}”。" if chinese else f"Nothing was found for {target!r}.")


def counted(target: str, number: int, names: str, *, chinese: bool, returning: int = 0) -> str:
    """A number, and what was counted; ``returning`` of them may have been counted before."""
    if chinese:
        again = f"（其中 {returning} 个可能重复）" if returning else ""
        return marked(f"“{target}”共 {number}{again}" + (f"：{names}" if names else "。"))
    again = f", of which {returning} may be the same as earlier ones" if returning else ""
    return marked(f"{number} for {target!r}{again}" + (f": {names}" if names else "."))


def none_counted(target: str, hint: str, *, chinese: bool) -> str:
    """That nothing was counted, with what a tool said about that; it is no claim that there is none."""
    return marked(f"“{target}”没有数到：{hint}" if chinese else f"None was counted for {target!r}: {hint}")


def told(text: str, *, chinese: bool) -> str:
    """A text as it stands."""
    return marked(text or ("没有可说的内容。" if chinese else "There is nothing to tell."))
