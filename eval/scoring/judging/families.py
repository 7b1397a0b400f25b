"""Families of models, by what their names say: a judge of the family it judges tends to like its own words better."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: family -> what its models are called. A name may belong to several: a model that was distilled into another.
_FAMILIES: dict[str, tuple[str, ...]] = {
    "OpenAI": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci", "codex"),
    "Anthropic": ("claude",),
    "Google": ("gemini", "gemma", "palm", "paligemma", "medgemma"),
    "Qwen": ("qwen", "qwq", "qvq", "tongyi"),
    "Llama": ("llama", "codellama"),
    "Mistral": ("mistral", "mixtral", "ministral", "magistral", "pixtral", "codestral", "devstral"),
    "DeepSeek": ("deepseek",),
    "GLM": ("glm", "chatglm", "cogvlm"),
    "InternLM": ("internlm", "internvl", "intern"),
    "Kimi": ("kimi", "moonshot"),
    "MiniCPM": ("minicpm",),
    "MiniMax": ("minimax", "abab"),
    "Phi": ("phi",),
    "Grok": ("grok",),
    "Doubao": ("doubao", "seed"),
    "Yi": ("yi",),
    "Cohere": ("command", "aya"),
    "Nemotron": ("nemotron",),
    "Hunyuan": ("hunyuan",),
    "ERNIE": ("ernie",),
    "LLaVA": ("llava",),
}
_WORD = re.compile(r"[a-z]+|o[134](?![0-9])")


def families_of(model: str) -> frozenset[str]:
    """The families that a model's name speaks of; a name that says nothing known is a family of its own, by its first word.

    Owner and path are left out where the rest of the name is known: ``org/qwen3-8b`` is Qwen, whoever ``org`` is.
    """
    whole = model.casefold()
    own = whole.rstrip("/").rpartition("/")[2]
    for name in (own, whole):
        words = {found for part in re.split(r"[^a-z0-9]+", name) for found in _starts(part)}
        found = frozenset(family for family, called in _FAMILIES.items() if words & set(called))
        if found:
            return found
    first = _WORD.search(own)
    return frozenset({first[0] if first else own})


def same_family(judge: str, judged: Iterable[str]) -> str | None:
    """What to say where a judge shares a family with a model it judges; None where it does not."""
    ours = families_of(judge)
    shared = sorted({model for model in judged if families_of(model) & ours})
    if not shared:
        return None
    return (
        f"{judge} judges {', '.join(shared)}, of its own family ({', '.join(sorted(ours))}): a judge may favour answers that "
        "sound like its own; take one of another family, or report its agreement per arm"
    )


def _starts(part: str) -> set[str]:
    """A part of a name, and the letters it starts with: ``qwen3`` is ``qwen``."""
    letters = re.match(r"[a-z]+", part)
    return {part, letters[0] if letters else part}
