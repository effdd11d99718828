"""Listeners of the circuits of conversion webhooks."""

from typing import Any, Final

from apiext.resources.conversion.circuits import ConversionCircuits

CONVERSION: Final[dict[str, Any]] = {"strategy": "Webhook"}


class _Hook:
    async def post(self, body: bytes) -> bytes:
        """Implement Hook.post."""
        return body


async def test_reports_until_the_listener_leaves() -> None:
    """Report the first answer of a webhook to each listener, until it ends its subscription; it may end it twice."""
    circuits, seen = ConversionCircuits(), list[str]()
    circuits.subscribe(lambda name, _: seen.append(f"first {name}"))
    end = circuits.subscribe(lambda name, _: seen.append(f"second {name}"))

    await circuits.guard("a", CONVERSION, _Hook()).post(b"")
    end()
    end()
    await circuits.guard("b", CONVERSION, _Hook()).post(b"")

    assert seen == ["first a", "second a", "first b"]
