"""Requests to apiext's import endpoint."""

import asyncio
from typing import Any

import orjson
import pytest

from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator.adoption.store_diff import Difference, stored_object
from apiext.operator.adoption.takeover import Importer
from apiext.operator.api_clients import ApiClient, ApiError


class Receiver:
    """A server that answers with the given codes, then with 200."""

    def __init__(self, *codes: int) -> None:
        self._codes = list(codes)
        self.bodies: list[bytes] = []

    async def ask(self, path: str, *, method: str, body: bytes, headers: Any) -> tuple[int, bytes]:
        """Answer as WebhookClient does."""
        assert (path, method) == ("/apiext/import/widgets.example.com", "POST")
        self.bodies.append(body)
        return (self._codes.pop(0) if self._codes else 200), b'{"message":"no"}'

    @property
    def importer(self) -> Importer:
        """Return an importer for this server."""
        api = ApiClient(Endpoint(url="http://apiext", context=None))
        api.client = self  # type: ignore[assignment]
        return Importer(api, "widgets.example.com")


def _put(name: str, namespace: str = "n") -> Difference:
    return Difference(
        stored_object({"apiVersion": "example.com/v1", "metadata": {"name": name, "namespace": namespace, "resourceVersion": "7"}}), None
    )


async def test_sends_an_object_a_line() -> None:
    """Send each object as a line without resourceVersion, and the name of each deleted object."""
    receiver = Receiver()
    importer = receiver.importer
    await importer.add(_put("a"))
    await importer.add(Difference(None, _put("b").wanted))
    await importer.flush()

    assert [orjson.loads(line) for line in receiver.bodies[0].splitlines()] == [
        {"apiVersion": "example.com/v1", "metadata": {"name": "a", "namespace": "n"}},
        {"delete": {"namespace": "n", "name": "b"}},
    ]


async def test_sends_batches() -> None:
    """Send many lines in batches, one after the other, and no request without lines."""
    receiver = Receiver()
    importer = receiver.importer
    for number in range(1001):
        await importer.add(_put(str(number)))
    await importer.flush()
    await importer.flush()

    assert [body.count(b"\n") for body in receiver.bodies] == [500, 500, 1]


async def test_retries_a_server_that_lags_behind() -> None:
    """Repeat the request while a replica has not seen the phase."""
    receiver = Receiver(409, 503)
    importer = receiver.importer
    await importer.add(_put("a"))
    await importer.flush()

    assert len(receiver.bodies) == 3


@pytest.mark.parametrize("codes", [(400,), (409,) * 30])
async def test_raises_permanent_errors(codes: tuple[int, ...]) -> None:
    """Raise an error that a retry does not solve."""
    importer = Receiver(*codes).importer
    await importer.add(_put("a"))

    with pytest.raises(ApiError, match=r'POST "http://apiext/apiext/import/widgets.example.com": no'):
        await importer.flush()


async def test_cancels_the_request_on_close() -> None:
    """Leave no request running after close."""
    importer = Receiver(*(409,) * 30).importer
    for number in range(500):
        await importer.add(_put(str(number)))

    await importer.close()

    assert asyncio.all_tasks() == {asyncio.current_task()}
