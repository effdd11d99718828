"""The specs of definitions between the old and the new one."""

from typing import Any

from apiext.tools.plan import stages
from tests.support.builders.plans import WEBHOOK, created, shaped

OLD = created(shaped("v1", "a", storage=True)).object["spec"]
NEW = created(shaped("v2", "b", storage=True)).object["spec"]
HOOK = created(shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=WEBHOOK).object["spec"]


def _marks(spec: dict[str, Any]) -> list[tuple[str, bool, bool]]:
    return [(one["name"], one["served"], one["storage"]) for one in spec["versions"]]


def test_joined() -> None:
    """Join the versions of both. A webhook of either converts."""
    assert _marks(stages.joined(OLD, NEW, storage="v1")) == [("v2", True, False), ("v1", True, True)]
    assert stages.has_webhook(stages.joined(HOOK, NEW, storage="v2"))
    assert stages.has_webhook(stages.joined(OLD, HOOK, storage="v1"))
    assert not stages.has_webhook(stages.joined(OLD, NEW, storage="v1"))


def test_changes_of_versions() -> None:
    """Change the storage version, which is then served; stop serving; deprecate."""
    off = stages.unserved(HOOK, ["v1"])

    assert _marks(off) == [("v1", False, False), ("v2", True, True)]
    assert _marks(stages.with_storage(off, "v1")) == [("v1", True, True), ("v2", True, False)]
    assert [one.get("deprecated", False) for one in stages.deprecated(HOOK, ["v1"])["versions"]] == [True, False]
    assert stages.served_of(off) == ["v2"]
    assert stages.state_of(off) == "v1=false/false v2=true/true Webhook"
    assert (stages.storage_of(off), stages.names_of(off)) == ("v2", ["v1", "v2"])
    assert stages.storage_of({"versions": []}) == ""
