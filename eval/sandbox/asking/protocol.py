"""What a dataset of made films says of its questions, to be published beside a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eval.sandbox.asking.asking import CHINESE_SHARE

ASKING_VERSION = 2  #: counts up when the same facts no longer give the same questions

PROTOCOL: Mapping[str, Any] = {
    "scoring": {"choice": "choice/1", "count": "count/1", "interval": "interval/1", "order": "order/1"},
    "questions": {
        "version": ASKING_VERSION,
        "made_from": "templates of the task domains, by split; answers from the film's facts",
        "domains": "the task domain of the template; content is the theme of the film",
        "chinese_share": CHINESE_SHARE,
        "blind": "videoworld sandbox prior DIR",
    },
}
