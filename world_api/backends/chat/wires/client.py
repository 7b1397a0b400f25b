"""The HTTP client under the ``openai`` client: where it does not go, and how much of a refusal it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from world_api.backends.chat.endpoint import Endpoint

if TYPE_CHECKING:
    from httpx2 import Response, SyncByteStream
    from openai import OpenAI

#: Of a refusal, as it comes over the network. The ``openai`` client reads refusals whole; packed, each byte may hold a thousand.
MAX_REFUSAL_BYTES = 64 * 1024


def client_for(endpoint: Endpoint) -> OpenAI:
    """A client of the endpoint that never tries again by itself and never goes elsewhere.

    Redirects are not followed: what is asked, and the key, are meant for the address that was configured.

    Raises:
        BackendFault: ``endpoint_bad_url``.
    """
    from openai import DefaultHttpxClient, OpenAI

    endpoint.check_url()
    http = DefaultHttpxClient(
        follow_redirects=False, timeout=endpoint.timeout, event_hooks={"response": [_bound_refusal]}
    )
    return OpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=endpoint.timeout,
        http_client=http,
    )


def _bound_refusal(response: Response) -> None:
    from httpx2 import SyncByteStream

    stream = response.stream
    if not response.is_success and isinstance(stream, SyncByteStream):
        response.stream = _beginning_of(stream)


def _beginning_of(stream: SyncByteStream) -> SyncByteStream:
    """The first bytes of a body, as a stream."""
    from httpx2 import SyncByteStream

    class Beginning(SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            left = MAX_REFUSAL_BYTES
            for chunk in stream:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    return

        def close(self) -> None:
            stream.close()

    return Beginning()
