"""Pictures as a chat request carries them: JPEG in data URLs, no larger than wanted."""

from __future__ import annotations

import base64
import math

from world_api.core.faults import BackendFault
from world_api.core.ports import Image, Picture

_QUALITY = 85
_SMALLEST_PART = 256  #: pixels; a smaller part of a frame is enlarged, or a model sees a few patches of it

#: What a picture is taken to cost where a server counts no tokens: 85, and 170 for each tile of 512 x 512 pixels.
_BASE_TOKENS, _TILE_TOKENS, _TILE = 85, 170, 512


def data_url(picture: Picture, longest_side: int) -> str:
    """A picture as a data URL.

    Raises:
        BackendFault: ``picture_unusable``.
    """
    import cv2

    encoded, jpeg = cv2.imencode(".jpg", sized(picture, longest_side), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    if not encoded:
        raise BackendFault("picture_unusable", "a frame could not be encoded as JPEG", hint="ask about another time")
    return "data:image/jpeg;base64," + base64.b64encode(jpeg.tobytes()).decode()


def sized(picture: Picture, longest_side: int) -> Image:
    """The picture with its longer side at most ``longest_side`` pixels; small parts of a frame are enlarged."""
    import cv2

    image = picture.image
    height, width = image.shape[:2]
    longer = max(height, width)
    wanted = min(longest_side, max(longer, _SMALLEST_PART) if picture.is_part else longer)
    if wanted == longer:
        return image
    size = max(1, round(width * wanted / longer)), max(1, round(height * wanted / longer))
    resized: Image = cv2.resize(image, size, interpolation=cv2.INTER_AREA if wanted < longer else cv2.INTER_CUBIC)
    return resized


def assumed_tokens(width: int, height: int) -> int:
    """What a picture of that size is taken to cost before a server has counted it."""
    return _BASE_TOKENS + _TILE_TOKENS * math.ceil(width / _TILE) * math.ceil(height / _TILE)
