"""Circuits of conversion webhooks, one for each CRD: a webhook that does not answer is not called for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from apiext.base.webhook.circuit_breaker import CircuitBreaker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from apiext.resources.conversion.calls import Hook

Listener = Callable[[str, CircuitBreaker], None]
"""Called with a CRD's name and circuit, after the webhook's first answer and when the circuit opens or closes."""


class GuardedHook:
    """Implements Hook: calls a webhook through its circuit. While the circuit is open, it raises the latest error."""

    __slots__ = ("_hook", "circuit")

    def __init__(self, hook: Hook, circuit: CircuitBreaker) -> None:
        self._hook = hook
        self.circuit = circuit

    async def post(self, body: bytes) -> bytes:
        """Implement Hook.post."""
        return await self.circuit.call(lambda: self._hook.post(body))


class ConversionCircuits:
    """The circuits of CRDs whose webhooks were called. A circuit lasts as long as its spec.conversion."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._circuits: dict[str, tuple[Mapping[str, Any], CircuitBreaker]] = {}
        self._listeners: list[Listener] = []

    def __iter__(self) -> Iterator[tuple[str, CircuitBreaker]]:
        """Iterate over CRD names and circuits."""
        return iter([(name, circuit) for name, (_, circuit) in self._circuits.items()])

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Report changes from now on. Return a function that ends this."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def guard(self, name: str, conversion: Mapping[str, Any], hook: Hook) -> GuardedHook:
        """Return a webhook with this spec.conversion behind the CRD's circuit."""
        known = self._circuits.get(name)
        if known is None or known[0] != conversion:
            circuit = CircuitBreaker(_is_silent, changed=partial(self._report, name), clock=self._clock)
            known = self._circuits[name] = (conversion, circuit)
        return GuardedHook(hook, known[1])

    def of(self, name: str) -> CircuitBreaker | None:
        """Return the circuit of a CRD, None if its webhook was never called."""
        known = self._circuits.get(name)
        return known[1] if known is not None else None

    def forget(self, name: str) -> None:
        """Drop the circuit of a CRD that has no webhook any more."""
        self._circuits.pop(name, None)

    def _report(self, name: str, circuit: CircuitBreaker) -> None:
        known = self._circuits.get(name)
        # requests that began before a change of spec.conversion use the earlier circuit
        if known is not None and known[1] is circuit:
            for listener in tuple(self._listeners):
                listener(name, circuit)


def _is_silent(error: Exception) -> bool:
    # Imported with the first failure of a webhook: most servers call none.
    from apiext.base.webhook.hook_answers import HookError

    return isinstance(error, HookError) and not error.answered
