"""What a model's tokens cost, as its user states it in a file.

No prices ship with this project: they would be wrong within weeks. Money is stated only where a price is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from world_api.core.faults import BackendFault
from world_api.core.files import open_regular

#: USD per million tokens; a price beyond it is a slip, and sums of it need not be finite.
_MOST_USD = 1_000_000
CURRENCY = "USD"
_MILLION = 1_000_000
_MOST_BYTES = 200_000
_KEYS = frozenset({"prompt", "cached", "completion", "currency"})


class Tokens(Protocol):
    """Counted tokens, of one request or of many. ``cached`` are a part of ``prompt``."""

    @property
    def prompt(self) -> int:
        """All tokens sent."""
        ...

    @property
    def cached(self) -> int:
        """Those of them that the server had kept."""
        ...

    @property
    def completion(self) -> int:
        """All tokens written, reasoning too."""
        ...


@dataclass(frozen=True, kw_only=True)
class Price:
    """USD for a million tokens: sent, sent again and found in the server's own cache, written."""

    prompt: float
    cached: float
    completion: float

    def __post_init__(self) -> None:
        if not all(0 <= amount <= _MOST_USD for amount in asdict(self).values()):
            raise ValueError(f"a price lies between 0 and {_MOST_USD:,}")

    def money(self, tokens: Tokens) -> float:
        """What these tokens cost, in USD."""
        cached = min(tokens.cached, tokens.prompt)  # some servers count more
        sent = (tokens.prompt - cached) * self.prompt + cached * self.cached
        return (sent + tokens.completion * self.completion) / _MILLION

    def record(self) -> dict[str, float]:
        """The wire form."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Prices:
    """The prices of some models, by the names under which they are asked; ``Prices()`` knows none."""

    models: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Prices:
        """The prices of a JSON or YAML file, ``{model: {prompt, completion, cached}}`` in USD per million tokens.

        Without ``cached``, tokens that the server had kept cost as much as others.

        Raises:
            BackendFault: ``bad_prices``, with the line.
        """
        return cls(models=_read(path))

    def of(self, model: str) -> Price | None:
        """The price of a model, if it is known."""
        return self.models.get(model)


def _read(path: Path) -> dict[str, Price]:
    import yaml

    try:
        with open_regular(path) as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise _bad(path, f"it has more than {_MOST_BYTES} bytes")
        text = content.decode("utf-8-sig")
        # JSON is read as the YAML it is, but for its tabs. The nodes keep their lines, and keys that stand there twice.
        root = yaml.compose(text.replace("\t", " ") if text.lstrip().startswith("{") else text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise _bad(path, f"it cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(path, " ".join(str(error).split())[:200]) from None
    entries = {} if root is None else _entries(root, path)
    return {model: _price(node, path, model) for model, node in entries.items()}


def _price(node: Any, path: Path, model: str) -> Price:
    entries = _entries(node, path)
    unknown = sorted(entries.keys() - _KEYS)
    if unknown:
        raise _bad(path, f"{model!r} has {unknown[0]!r}, which says nothing here", node)
    if "currency" in entries and _text(entries["currency"]) != CURRENCY:
        raise _bad(path, f"{model!r} is not priced in {CURRENCY}", entries["currency"])
    missing = sorted({"prompt", "completion"} - entries.keys())
    if missing:
        raise _bad(path, f"{model!r} has no price of {missing[0]!r} tokens", node)
    try:
        amounts = {key: float(_text(entries[key])) for key in ("prompt", "cached", "completion") if key in entries}
        return Price(**{"cached": amounts["prompt"], **amounts})
    except ValueError:
        raise _bad(path, f"a price of {model!r} is not a number from 0 to {_MOST_USD:,}", node) from None


def _entries(node: Any, path: Path) -> dict[str, Any]:
    """The parts of a mapping, by their keys."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise _bad(path, "it is not a table of models and their prices", node)
    entries: dict[str, Any] = {}
    for key, value in node.value:
        name = _text(key)
        if not name or name in entries:
            raise _bad(path, f"{name!r} stands here a second time" if name else "a key is not a word", key)
        entries[name] = value
    return entries


def _text(node: Any) -> str:
    """The spelling of a scalar; nothing where it is none."""
    value = node.value
    return value if isinstance(value, str) else ""


def _bad(path: Path, reason: str, node: Any = None) -> BackendFault:
    where = path.name if node is None else f"{path.name}, line {node.start_mark.line + 1}"
    return BackendFault(
        "bad_prices",
        f"{where}: {reason}",
        hint='it looks like {"model-name": {"prompt": 2.5, "cached": 0.25, "completion": 10}}, in USD per million tokens',
    )
