"""The admission plug-in ResourceQuota."""

import asyncio
import copy
from typing import Any

import pytest

from apiext.api.admission.resourcequota.access import QuotaAccess
from apiext.api.admission.resourcequota.evaluator import Evaluator, ResourceQuota
from apiext.base.meta.errors import StatusError
from apiext.base.meta.request import AdmissionOperation
from tests.support.refusals import refusal
from tests.unit.api.admission.creations import Host, error_status, widget

COUNT = "count/widgets.example.com"
PATH = "/api/v1/namespaces/n/resourcequotas"


def quota(name: str = "q", hard: str = "2", used: str | None = "0", **spec: Any) -> dict[str, Any]:
    """Return a quota of namespace n."""
    status = {"hard": {COUNT: hard, "pods": "4"}, "used": {"pods": "1"} | ({} if used is None else {COUNT: used})}
    return {"metadata": {"name": name, "namespace": "n", "resourceVersion": "10"}, "spec": spec, "status": status}


class Quotas(Host):
    """A host that stores quotas and checks resourceVersions. Each write applies the next change of `meanwhile` first."""

    def __init__(self, *quotas: dict[str, Any]) -> None:
        super().__init__()
        self.kept = {one["metadata"]["name"]: copy.deepcopy(one) for one in quotas}
        self.meanwhile: list[dict[str, Any] | None] = []

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Return the answer of kube-apiserver."""
        name = path.removeprefix(PATH).strip("/").partition("/")[0]
        if method == "PUT" and self.meanwhile:
            self._change(name, self.meanwhile.pop(0))
        if not name:
            return 200, {"items": list(self.kept.values())}
        if f"{method} {name}" in self.answers:
            return self.answers[f"{method} {name}"]
        if name not in self.kept:
            return error_status(404, "NotFound", "gone")
        if method == "PUT":
            if body["metadata"]["resourceVersion"] != self.kept[name]["metadata"]["resourceVersion"]:
                return error_status(409, "Conflict", "changed")
            self._change(name, body)
        return 200, self.kept[name]

    def _change(self, name: str, new: dict[str, Any] | None) -> None:
        before = self.kept.pop(name)
        if new is not None:
            revision = str(int(before["metadata"]["resourceVersion"]) + 1)
            self.kept[name] = {**copy.deepcopy(new), "metadata": {**new["metadata"], "resourceVersion": revision}}

    def used(self, name: str = "q") -> str:
        """Return the stored usage."""
        amount: str = self.kept[name]["status"]["used"][COUNT]
        return amount

    def writes(self) -> int:
        """Return the number of writes."""
        return sum(asked.startswith("PUT") for asked in self.asked)


def access_to(host: Quotas) -> QuotaAccess:
    """Return the quotas of a host after the first list."""
    access = QuotaAccess(host)
    access.replaced(copy.deepcopy(list(host.kept.values())))
    return access


def plugin_for(host: Quotas, access: QuotaAccess | None = None) -> ResourceQuota:
    """Return the plug-in."""
    return ResourceQuota(Evaluator(access or access_to(host)))


async def rejected(plugin: ResourceQuota, **more: Any) -> StatusError:
    """Return the error of a rejected create."""
    return await refusal(plugin.validate(widget(**more)))


async def test_charges_creates() -> None:
    """Charge creates until the limit, and change nothing else of the quota."""
    host = Quotas(quota())
    plugin = plugin_for(host)
    for _ in range(2):
        await plugin.validate(widget())

    assert host.kept["q"]["status"] == {"hard": {COUNT: "2", "pods": "4"}, "used": {COUNT: "2", "pods": "1"}}
    error = await rejected(plugin, name="", new={"metadata": {"name": "made-up"}})
    assert error.code == 403
    assert error.message == (
        f'widgets.example.com "made-up" is forbidden: exceeded quota: q, requested: {COUNT}=1, used: {COUNT}=2, limited: {COUNT}=2'
    )
    assert host.writes() == 2


async def test_writes_canonical_amounts() -> None:
    """Write amounts in the reference's canonical form."""
    host = Quotas(quota(hard="1k", used="999"))
    plugin = plugin_for(host)
    await plugin.validate(widget())

    assert host.used() == "1k"
    assert f"used: {COUNT}=1k, limited: {COUNT}=1k" in (await rejected(plugin)).message


@pytest.mark.parametrize(
    "other",
    [
        quota("other", scopes=["BestEffort"], hard="0"),
        quota("other", scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}, hard="0"),
        {"metadata": {"name": "other", "namespace": "n"}, "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}},
        {"metadata": {"name": "other", "namespace": "n"}, "spec": {"hard": {COUNT: "0"}}},
    ],
)
async def test_ignores_other_quotas(other: dict[str, Any]) -> None:
    """Ignore quotas with scopes, of other kinds, and without a status, without any request."""
    host = Quotas(other)
    await plugin_for(host).validate(widget())

    assert host.asked == []


async def test_charges_only_creates() -> None:
    """Charge neither updates nor subresources nor cluster-scoped objects."""
    host = Quotas(quota(hard="0"))
    plugin = plugin_for(host)
    await plugin.validate(widget(namespace=""))
    await plugin.validate(widget(subresource="status"))
    await plugin.validate(widget(namespace="other"))

    assert plugin.handles(AdmissionOperation.CREATE)
    assert not plugin.handles(AdmissionOperation.UPDATE)
    assert host.asked == []


async def test_rejects_with_unknown_usage() -> None:
    """Return 403 while the usage is unknown."""
    error = await rejected(plugin_for(Quotas(quota(used=None))))

    assert error.message == f'widgets.example.com "w" is forbidden: status unknown for quota: q, resources: {COUNT}'


async def test_does_not_charge_dry_runs() -> None:
    """Check a dry run against the quota without charging it."""
    host = Quotas(quota(hard="1"))
    plugin = plugin_for(host)
    await plugin.validate(widget(dry_run=True))
    await plugin.validate(widget())

    assert "exceeded quota" in (await rejected(plugin, dry_run=True)).message
    assert (host.used(), host.writes()) == ("1", 1)


async def test_charges_all_quotas_or_none() -> None:
    """Charge no quota where one of several is exceeded."""
    host = Quotas(quota("a", hard="5"), quota("b", hard="0"), quota("c", hard="5"))

    assert "exceeded quota: b" in (await rejected(plugin_for(host))).message
    assert host.writes() == 0


async def test_batches_concurrent_creates() -> None:
    """Charge concurrent creates with few writes, and no more than the limit."""
    host = Quotas(quota(hard="7"))
    plugin = plugin_for(host)
    results = await asyncio.gather(*(plugin.validate(widget()) for _ in range(20)), return_exceptions=True)

    assert (results.count(None), host.used()) == (7, "7")
    assert host.writes() <= 2


async def test_retries_after_a_conflict() -> None:
    """Read a quota again that has changed meanwhile, and decide by its new state."""
    host = Quotas(quota(hard="9", used="3"))
    host.meanwhile = [quota(hard="9", used="5"), quota(hard="9", used="6")]
    plugin = plugin_for(host)
    await plugin.validate(widget())

    assert host.used() == "7"
    host.meanwhile = [quota(hard="9", used="9")]
    assert f"used: {COUNT}=9, limited: {COUNT}=9" in (await rejected(plugin)).message


async def test_retries_only_failed_quotas() -> None:
    """Charge a quota once where another one conflicts."""
    host = Quotas(quota("a", hard="9"), quota("b", hard="9"))
    host.meanwhile = [quota("a", hard="9", used="1")]
    await plugin_for(host).validate(widget())

    assert (host.used("a"), host.used("b"), host.writes()) == ("2", "1", 3)


async def test_ignores_a_deleted_quota() -> None:
    """Admit a create whose quota is deleted meanwhile."""
    host = Quotas(quota())
    host.meanwhile = [None]
    access = access_to(host)
    await plugin_for(host, access).validate(widget())

    assert access.unlimited("n", COUNT)


@pytest.mark.parametrize(
    "answer, code, message",
    [
        (error_status(403, "Forbidden", "you may not"), 403, "you may not"),
        (error_status(409, "Conflict", "changed"), 409, "changed"),
        ((0, None), 500, f'Put "{PATH}/q/status": connection refused'),
    ],
)
async def test_rejects_after_four_failures(answer: tuple[int, Any], code: int, message: str) -> None:
    """Return the host's last error after four attempts to charge a create."""
    host = Quotas(quota())
    host.answers["PUT q"] = answer
    error = await rejected(plugin_for(host))

    assert (error.code, error.message, host.writes()) == (code, message, 4)
    assert host.used() == "0"


async def test_looks_up_before_the_first_list() -> None:
    """Look quotas up live before the first list, once for concurrent creates."""
    host = Quotas(quota(hard="3"))
    access = QuotaAccess(host)
    plugin = plugin_for(host, access)
    for _ in range(2):
        await asyncio.gather(*(plugin.validate(widget()) for _ in range(2)), return_exceptions=True)

    assert not access.synced
    assert host.asked.count(f"GET {PATH}") == 1
    assert host.used() == "3"


async def test_fails_without_the_host() -> None:
    """Return 500 where the live lookup fails."""
    host = Quotas()
    host.answer = lambda *_: (0, None)  # type: ignore[method-assign]
    error = await rejected(plugin_for(host, QuotaAccess(host)))

    assert (error.code, error.message) == (500, f'Get "{PATH}": connection refused')


async def test_prefers_written_quotas() -> None:
    """Use the written usage until the informer has a later state, or the quota is deleted."""
    host = Quotas(quota(hard="1"))
    access = access_to(host)
    plugin = plugin_for(host, access)
    await plugin.validate(widget())
    access.changed(quota(hard="1"))
    assert "exceeded" in (await rejected(plugin)).message

    later = quota(hard="2", used="1")
    later["metadata"]["resourceVersion"] = "12"
    host.kept["q"] = copy.deepcopy(later)
    access.changed(later)
    await plugin.validate(widget())
    access.deleted(later)
    await plugin.validate(widget())
    assert host.used() == "2"


class BlockedHost(Quotas):
    """A host that answers nothing until `go` is set."""

    def __init__(self, *quotas: dict[str, Any]) -> None:
        super().__init__(*quotas)
        self.go = asyncio.Event()

    async def __call__(self, path: str, *, method: str = "GET", body: Any = None) -> tuple[int, bytes]:
        """Wait for `go`, then answer."""
        await self.go.wait()
        return await super().__call__(path, method=method, body=body)


async def test_times_out() -> None:
    """Return 500 after the timeout."""
    evaluator = Evaluator(access_to(BlockedHost(quota())), timeout=0.01)
    error = await rejected(ResourceQuota(evaluator))
    await evaluator.close()

    assert (error.code, error.message) == (500, "Internal error occurred: resource quota evaluation timed out")


async def test_does_not_charge_cancelled_creates() -> None:
    """Do not charge a create that is cancelled before its decision."""
    host = BlockedHost(quota())
    plugin = plugin_for(host)
    first, second = (asyncio.create_task(plugin.validate(widget())) for _ in range(2))
    await asyncio.sleep(0)
    late = asyncio.create_task(plugin.validate(widget()))
    await asyncio.sleep(0)
    late.cancel()
    host.go.set()
    await asyncio.gather(first, second)

    assert (host.used(), host.writes()) == ("2", 1)


async def test_close_stops_the_workers() -> None:
    """Stop the workers, and leave waiting creates undecided."""
    evaluator = Evaluator(access_to(BlockedHost(quota())))
    waiting = asyncio.create_task(evaluator.evaluate(widget()))
    await asyncio.sleep(0)
    await evaluator.close()

    assert not waiting.done()
    waiting.cancel()
