"""By which code, and on which endpoint, the samples of a run were asked: a run that goes on may have another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

from eval.runs.configuration.document import ConfigurationDocument
from eval.runs.manifest import Manifest, Stretch, write_manifest
from eval.runs.places import RunFolder
from world_api.backends.chat.endpoint import Endpoint
from world_api.backends.chat.prices import Price
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.canonical import content_hash

#: In what two stretches may differ, and what that is called.
_TOLD = {
    "loop": "the code that runs episodes",
    "git": "the commit",
    "versions": "a version",
    "endpoint": "the endpoint",
    "wire": "the wire",
    "cache": "the request cache",
    "prices": "the price",
}


def stretch_of(
    now: Manifest, document: ConfigurationDocument, *, price: Price | None, environment: Mapping[str, str]
) -> Stretch:
    """What asks from now on. ``now`` is the manifest as this process would write it for a new run."""
    rules = document.model == RULE_BASED
    return Stretch(
        first=0,
        planned=sum(now.datasets[cell.dataset].items for cell in now.cells),
        versions=now.versions,
        git=now.git,
        loop=now.loop,
        endpoint=None if rules else Endpoint.from_environment(environment).address,
        wire=None if rules else document.wire,
        cache=document.cache is not None,
        prices=None if price is None else content_hash(asdict(price)),
    )


def note_stretch(
    folder: RunFolder, manifest: Manifest, now: Stretch, *, noted: int, say: Callable[[str], object]
) -> None:
    """Write down who asks from here on, where that is somebody else than before; and tell it. ``noted`` samples were asked so far.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    before = manifest.stretches[-1] if manifest.stretches else None
    now = replace(now, first=noted)
    if before is not None and replace(before, first=now.first) == now:
        return
    changed = [name for key, name in _TOLD.items() if before is not None and getattr(before, key) != getattr(now, key)]
    if changed and noted:
        say(
            f"{', '.join(changed)} changed since the run was begun; manifest.json tells which samples were asked by which"
        )
    kept = [
        one for one in manifest.stretches if one.first < now.first
    ]  # of one that asked nothing there is nothing to tell
    write_manifest(folder.manifest, replace(manifest, stretches=(*kept, now)))
