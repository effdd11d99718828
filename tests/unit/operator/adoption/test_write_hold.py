"""The webhook before the policy: it is asked first, goes last, and is not needed."""

from typing import Any

import orjson
import pytest

from apiext.operator.adoption.admission_policy import Policy, groups_with_policy
from tests.unit.operator.adoption.world import GROUP, POLICIES, WEBHOOKS, World


async def test_writes_are_held_before_they_are_refused() -> None:
    """Create the policy once the host holds writes; delete the webhook after it."""
    one = World()
    seen: list[tuple[bool, bool]] = []
    one.meanwhile = lambda: seen.append((one.holds_writes, one.denies_writes))
    policy = _policy(one)

    await policy.ensure(["widgets"])
    await policy.wait_until_enforced(["widgets"])
    await policy.remove()

    assert (True, True) in seen
    assert (False, True) not in seen
    assert (one.holds_writes, one.denies_writes) == (False, False)


async def test_asks_the_service_of_apiext() -> None:
    """Ask apiext about all writes to the resources, and about a probe in one namespace; a silent apiext stops nobody."""
    one = World()
    await _policy(one).ensure(["widgets", "gadgets"])

    held, probe = one.host[f"{WEBHOOKS}/apiext-{GROUP}"]["webhooks"]

    service = {"namespace": "apiext-system", "name": "apiext", "port": 443, "path": "/apiext/hold-writes"}
    assert held["rules"][0]["resources"] == ["gadgets", "gadgets/*", "widgets", "widgets/*"]
    for hook in (held, probe):
        assert (hook["clientConfig"], hook["failurePolicy"], hook["sideEffects"]) == ({"service": service}, "Ignore", "None")
    assert probe["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "default"}}


async def test_goes_on_without_a_webhook_that_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the policy refuse writes if the host does not reach apiext."""
    monkeypatch.setattr("apiext.operator.adoption.write_hold.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(World, "holds_writes", False)
    one = World()
    policy = _policy(one)

    await policy.ensure(["widgets"])
    await policy.wait_until_enforced(["widgets"])

    assert one.denies_writes


async def test_goes_on_without_the_right_to_write_webhooks() -> None:
    """Let the policy refuse writes if the operator may not write webhook configurations."""
    one = World()
    one.forbids_webhooks = True
    policy = _policy(one)

    await policy.ensure(["widgets"])
    await policy.wait_until_enforced(["widgets"])
    assert (one.holds_writes, one.denies_writes) == (False, True)
    await policy.remove()

    assert not one.denies_writes


@pytest.mark.parametrize("left", [POLICIES, WEBHOOKS])
async def test_finds_what_an_ended_operator_left(left: str) -> None:
    """Name a group of which only one of the two is there."""
    one = World()
    policy = _policy(one)
    await policy.ensure(["widgets"])
    one.host = {path: found for path, found in one.host.items() if path.startswith(left)}
    listed: dict[str, list[Any]] = {POLICIES: [], WEBHOOKS: []}
    for path, found in one.host.items():
        listed[path.rpartition("/")[0]].append(found)
    api = one.transition().clients.host
    api.client = _Lists(listed)  # type: ignore[assignment]

    assert await groups_with_policy(api, "") == {GROUP}


class _Lists:
    """A host that lists collections."""

    def __init__(self, collections: dict[str, list[Any]]) -> None:
        self._collections = collections

    async def ask(self, path: str, **_: Any) -> tuple[int, bytes]:
        """Return a list."""
        return 200, orjson.dumps({"metadata": {}, "items": self._collections[path.partition("?")[0]]})


def _policy(one: World) -> Policy:
    return Policy(one.transition().clients.host, GROUP, "", one.target)
