"""Creations are charged to the quotas of the host."""

import asyncio
import copy
from typing import Any

import pytest

from apiext.admission.attributes import CREATE, UPDATE
from apiext.admission.resourcequota.access import QuotaAccess
from apiext.admission.resourcequota.evaluator import Evaluator
from apiext.admission.resourcequota.plugin import ResourceQuota
from apiext.meta.errors import StatusError
from tests.unit.admission.creations import Host, refusal, widget

COUNT = "count/widgets.example.com"
PATH = "/api/v1/namespaces/n/resourcequotas"


def quota(name: str = "q", hard: str = "2", used: str | None = "0", **spec: Any) -> dict[str, Any]:
    """A quota of namespace n."""
    status = {"hard": {COUNT: hard, "pods": "4"}, "used": {"pods": "1"} | ({} if used is None else {COUNT: used})}
    return {"metadata": {"name": name, "namespace": "n", "resourceVersion": "10"}, "spec": spec, "status": status}


class Quotas(Host):
    """A host that keeps quotas, and refuses writes of outdated ones. `meanwhile` happens before each write."""

    def __init__(self, *quotas: dict[str, Any]) -> None:
        super().__init__()
        self.kept = {one["metadata"]["name"]: copy.deepcopy(one) for one in quotas}
        self.meanwhile: list[dict[str, Any] | None] = []

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """As kube-apiserver does."""
        name = path.removeprefix(PATH).strip("/").partition("/")[0]
        if method == "PUT" and self.meanwhile:
            self._change(name, self.meanwhile.pop(0))
        if not name:
            return 200, {"items": list(self.kept.values())}
        if f"{method} {name}" in self.answers:
            return self.answers[f"{method} {name}"]
        if name not in self.kept:
            return refusal(404, "NotFound", "gone")
        if method == "PUT":
            if body["metadata"]["resourceVersion"] != self.kept[name]["metadata"]["resourceVersion"]:
                return refusal(409, "Conflict", "changed")
            self._change(name, body)
        return 200, self.kept[name]

    def _change(self, name: str, new: dict[str, Any] | None) -> None:
        before = self.kept.pop(name)
        if new is not None:
            revision = str(int(before["metadata"]["resourceVersion"]) + 1)
            self.kept[name] = {**copy.deepcopy(new), "metadata": {**new["metadata"], "resourceVersion": revision}}

    def used(self, name: str = "q") -> str:
        """What is used."""
        amount: str = self.kept[name]["status"]["used"][COUNT]
        return amount

    def writes(self) -> int:
        """How often it has been written to."""
        return sum(asked.startswith("PUT") for asked in self.asked)


def access_to(host: Quotas) -> QuotaAccess:
    """Quotas as they are followed."""
    access = QuotaAccess(host)
    access.replaced(copy.deepcopy(list(host.kept.values())))
    return access


def plugin_for(host: Quotas, access: QuotaAccess | None = None, *, patience: float = 10.0) -> ResourceQuota:
    """The plug-in."""
    return ResourceQuota(Evaluator(access or access_to(host), patience=patience))


async def refused(plugin: ResourceQuota, **more: Any) -> StatusError:
    """The refusal of a creation."""
    with pytest.raises(StatusError) as caught:
        await plugin.validate(widget(**more))
    return caught.value


async def test_charged() -> None:
    """What is created is charged, and nothing else of the quota is touched, until there is no more."""
    host = Quotas(quota())
    plugin = plugin_for(host)
    for _ in range(2):
        await plugin.validate(widget())

    assert host.kept["q"]["status"] == {"hard": {COUNT: "2", "pods": "4"}, "used": {COUNT: "2", "pods": "1"}}
    error = await refused(plugin, name="", new={"metadata": {"name": "made-up"}})
    assert error.code == 403
    assert error.message == (
        f'widgets.example.com "made-up" is forbidden: exceeded quota: q, requested: {COUNT}=1, used: {COUNT}=2, limited: {COUNT}=2'
    )
    assert host.writes() == 2


async def test_amounts() -> None:
    """Amounts are written as the reference writes them."""
    host = Quotas(quota(hard="1k", used="999"))
    plugin = plugin_for(host)
    await plugin.validate(widget())

    assert host.used() == "1k"
    assert f"used: {COUNT}=1k, limited: {COUNT}=1k" in (await refused(plugin)).message


@pytest.mark.parametrize(
    "other",
    [
        quota("other", scopes=["BestEffort"], hard="0"),
        quota("other", scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}, hard="0"),
        {"metadata": {"name": "other", "namespace": "n"}, "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}},
        {"metadata": {"name": "other", "namespace": "n"}, "spec": {"hard": {COUNT: "0"}}},
    ],
)
async def test_of_no_concern(other: dict[str, Any]) -> None:
    """Quotas with scopes, of other kinds, or whose status is not there yet limit nothing, and cost nothing."""
    host = Quotas(other)
    await plugin_for(host).validate(widget())

    assert host.asked == []


async def test_only_creations() -> None:
    """Updates, subresources and what is in no namespace are not counted."""
    host = Quotas(quota(hard="0"))
    plugin = plugin_for(host)
    await plugin.validate(widget(namespace=""))
    await plugin.validate(widget(subresource="status"))
    await plugin.validate(widget(namespace="other"))

    assert plugin.handles(CREATE)
    assert not plugin.handles(UPDATE)
    assert host.asked == []


async def test_usage_unknown() -> None:
    """Nothing is created before it is known how much there is."""
    error = await refused(plugin_for(Quotas(quota(used=None))))

    assert error.message == f'widgets.example.com "w" is forbidden: status unknown for quota: q, resources: {COUNT}'


async def test_dry_runs() -> None:
    """A dry run is judged and not charged."""
    host = Quotas(quota(hard="1"))
    plugin = plugin_for(host)
    await plugin.validate(widget(dry_run=True))
    await plugin.validate(widget())

    assert "exceeded quota" in (await refused(plugin, dry_run=True)).message
    assert (host.used(), host.writes()) == ("1", 1)


async def test_several_quotas() -> None:
    """All quotas have to allow it; where one does not, none is charged."""
    host = Quotas(quota("a", hard="5"), quota("b", hard="0"), quota("c", hard="5"))

    assert "exceeded quota: b" in (await refused(plugin_for(host))).message
    assert host.writes() == 0


async def test_many_at_once() -> None:
    """Creations that come at once are charged with few writes, and no more than allowed."""
    host = Quotas(quota(hard="7"))
    plugin = plugin_for(host)
    told = await asyncio.gather(*(plugin.validate(widget()) for _ in range(20)), return_exceptions=True)

    assert (told.count(None), host.used()) == (7, "7")
    assert host.writes() <= 2


async def test_conflicts() -> None:
    """A quota that has changed meanwhile is asked for, and what it says now holds."""
    host = Quotas(quota(hard="9", used="3"))
    host.meanwhile = [quota(hard="9", used="5"), quota(hard="9", used="6")]
    plugin = plugin_for(host)
    await plugin.validate(widget())

    assert host.used() == "7"
    host.meanwhile = [quota(hard="9", used="9")]
    assert f"used: {COUNT}=9, limited: {COUNT}=9" in (await refused(plugin)).message


async def test_conflict_with_one_of_two() -> None:
    """What has been charged already is not charged again."""
    host = Quotas(quota("a", hard="9"), quota("b", hard="9"))
    host.meanwhile = [quota("a", hard="9", used="1")]
    await plugin_for(host).validate(widget())

    assert (host.used("a"), host.used("b"), host.writes()) == ("2", "1", 3)


async def test_removed_meanwhile() -> None:
    """A quota that has gone does not limit any more."""
    host = Quotas(quota())
    host.meanwhile = [None]
    access = access_to(host)
    await plugin_for(host, access).validate(widget())

    assert access.unlimited("n", COUNT)


@pytest.mark.parametrize(
    "answer, code, message",
    [
        (refusal(403, "Forbidden", "you may not"), 403, "you may not"),
        (refusal(409, "Conflict", "changed"), 409, "changed"),
        ((0, None), 500, f'Put "{PATH}/q/status": connection refused'),
    ],
)
async def test_not_charged(answer: tuple[int, Any], code: int, message: str) -> None:
    """What cannot be charged is not created; it is tried four times, and the host's last word is told."""
    host = Quotas(quota())
    host.answers["PUT q"] = answer
    error = await refused(plugin_for(host))

    assert (error.code, error.message, host.writes()) == (code, message, 4)
    assert host.used() == "0"


async def test_nothing_followed_yet() -> None:
    """Before the first list a namespace's quotas are looked up, once for all who ask."""
    host = Quotas(quota(hard="3"))
    access = QuotaAccess(host)
    plugin = plugin_for(host, access)
    for _ in range(2):
        await asyncio.gather(*(plugin.validate(widget()) for _ in range(2)), return_exceptions=True)

    assert not access.synced
    assert host.asked.count(f"GET {PATH}") == 1
    assert host.used() == "3"


async def test_host_away() -> None:
    """What cannot be looked up is no quota that is kept: it is the host's failure."""
    host = Quotas()
    host.answer = lambda *_: (0, None)  # type: ignore[method-assign]
    error = await refused(plugin_for(host, QuotaAccess(host)))

    assert (error.code, error.message) == (500, f'Get "{PATH}": connection refused')


async def test_followed() -> None:
    """What was written holds until a later state is heard of, or the quota goes."""
    host = Quotas(quota(hard="1"))
    access = access_to(host)
    plugin = plugin_for(host, access)
    await plugin.validate(widget())
    access.changed(quota(hard="1"))
    assert "exceeded" in (await refused(plugin)).message

    later = quota(hard="2", used="1")
    later["metadata"]["resourceVersion"] = "12"
    host.kept["q"] = copy.deepcopy(later)
    access.changed(later)
    await plugin.validate(widget())
    access.deleted(later)
    await plugin.validate(widget())
    assert host.used() == "2"


class Stuck(Quotas):
    """Answers nobody before it is let go."""

    def __init__(self, *quotas: dict[str, Any]) -> None:
        super().__init__(*quotas)
        self.go = asyncio.Event()

    async def __call__(self, path: str, *, method: str = "GET", body: Any = None) -> tuple[int, bytes]:
        """Wait, then answer."""
        await self.go.wait()
        return await super().__call__(path, method=method, body=body)


async def test_late_decision() -> None:
    """Who waits too long is told."""
    error = await refused(plugin_for(Stuck(quota()), patience=0.01))

    assert (error.code, error.message) == (500, "Internal error occurred: resource quota evaluation timed out")


async def test_nobody_waits() -> None:
    """Who does not wait any more before it is decided is not charged."""
    host = Stuck(quota())
    plugin = plugin_for(host)
    first, second = (asyncio.create_task(plugin.validate(widget())) for _ in range(2))
    await asyncio.sleep(0)
    late = asyncio.create_task(plugin.validate(widget()))
    await asyncio.sleep(0)
    late.cancel()
    host.go.set()
    await asyncio.gather(first, second)

    assert (host.used(), host.writes()) == ("2", 1)


async def test_end() -> None:
    """At the end of the server nobody is at work any more."""
    evaluator = Evaluator(access_to(Stuck(quota())))
    waiting = asyncio.create_task(evaluator.evaluate(widget()))
    await asyncio.sleep(0)
    await evaluator.close()

    assert not waiting.done()
    waiting.cancel()
