"""What is sent to the import receiver."""

from typing import Any

import orjson
import pytest

from apiext.operator.adoption.importer import Importer
from apiext.operator.adoption.store_diff import Difference, held
from apiext.operator.api_clients import Api, ApiError
from apiext.webhook.kubeconfig import Endpoint


class Receiver:
    """Answers with the given codes, then with 200."""

    def __init__(self, *codes: int) -> None:
        self._codes = list(codes)
        self.bodies: list[bytes] = []

    async def ask(self, path: str, *, method: str, body: bytes, headers: Any) -> tuple[int, bytes]:
        """See WebhookClient."""
        assert (path, method) == ("/apiext/import/widgets.example.com", "POST")
        self.bodies.append(body)
        return (self._codes.pop(0) if self._codes else 200), b'{"message":"no"}'

    @property
    def importer(self) -> Importer:
        """One that sends here."""
        api = Api(Endpoint(url="http://apiext", context=None))
        api.client = self  # type: ignore[assignment]
        return Importer(api, "widgets.example.com")


def _put(name: str, namespace: str = "n") -> Difference:
    return Difference(held({"metadata": {"name": name, "namespace": namespace, "resourceVersion": "7"}}), None)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apiext.operator.adoption.polling._PAUSE", 0.0)


async def test_lines() -> None:
    """An object is a line, without resourceVersion; one that must go is named."""
    receiver = Receiver()
    importer = receiver.importer
    await importer.take(_put("a"))
    await importer.take(Difference(None, _put("b").wanted))
    await importer.flush()

    assert [orjson.loads(line) for line in receiver.bodies[0].splitlines()] == [
        {"metadata": {"name": "a", "namespace": "n"}},
        {"delete": {"namespace": "n", "name": "b"}},
    ]


async def test_parts() -> None:
    """Many lines go in parts, one after the other; nothing is sent where there is nothing."""
    receiver = Receiver()
    importer = receiver.importer
    for number in range(1001):
        await importer.take(_put(str(number)))
    await importer.flush()
    await importer.flush()

    assert [body.count(b"\n") for body in receiver.bodies] == [500, 500, 1]


async def test_a_server_that_is_behind() -> None:
    """A server that has not heard of the phase is asked again."""
    receiver = Receiver(409, 503)
    importer = receiver.importer
    await importer.take(_put("a"))
    await importer.flush()

    assert len(receiver.bodies) == 3


@pytest.mark.parametrize("codes", [(400,), (409,) * 30])
async def test_refusals(codes: tuple[int, ...]) -> None:
    """What is refused for good is told."""
    importer = Receiver(*codes).importer
    await importer.take(_put("a"))

    with pytest.raises(ApiError, match=r'POST "http://apiext/apiext/import/widgets.example.com": no'):
        await importer.flush()


async def test_broken_off() -> None:
    """Nothing goes on in the background after an attempt has ended."""
    importer = Receiver(*(409,) * 30).importer
    for number in range(500):
        await importer.take(_put(str(number)))

    await importer.close()

    assert importer._sending is not None
    assert importer._sending.done()
