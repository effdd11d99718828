"""The check against escalation of roles and bindings."""

from typing import Any

import pytest

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.escalation import EscalationCheck
from apiext.api.authorization.authorizer import ALLOWED, NO_OPINION, ReviewError, Verdict
from apiext.api.authorization.rbac.policy import GROUP, Binding, RolePolicy, RoleRef, Subject
from apiext.api.authorization.rbac.rules import read_rules
from apiext.base.meta.errors import StatusError
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.base.meta.request import AdmissionOperation, RequestInfo, UserInfo

READ = {"verbs": ["get"], "apiGroups": ["g.io"], "resources": ["widgets"]}
WRITE = {**READ, "verbs": ["update"]}
ANN = UserInfo("ann")


def policy() -> RolePolicy:
    """Return a policy in which ann has READ."""
    found = RolePolicy()
    found.put_role("", "reader", read_rules([READ]))
    found.put_role("", "writer", read_rules([WRITE]))
    found.put_binding(Binding("", "b", RoleRef("ClusterRole", "reader"), (Subject("User", "ann"),)))
    return found


async def refusal(plural: str, new: dict[str, Any], old: dict[str, Any] | None = None, *, user: UserInfo = ANN, verb: str = "") -> str:
    """Return the message of a refused write, empty for an admitted one. `verb` is explicitly allowed; "!" fails."""
    asked: list[RequestInfo] = []

    async def authorize(_user: UserInfo, info: RequestInfo) -> Verdict:
        asked.append(info)
        if verb == "!":
            raise ReviewError("away")
        return ALLOWED if info.verb == verb else NO_OPINION

    attributes = Attributes(
        operation=AdmissionOperation.UPDATE if old else AdmissionOperation.CREATE,
        kind=GroupVersionKind(GROUP, "v1", "X"),
        resource=GroupVersionResource(GROUP, "v1", plural),
        user=user,
        name="x",
        new=new,
        old=old,
    )
    try:
        await EscalationCheck(policy(), authorize).admit(attributes)
    except StatusError as error:
        return error.message
    return ""


def role(*rules: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return a role."""
    return {"metadata": {"name": "x", **metadata}, "rules": list(rules)}


async def test_roles() -> None:
    """Admit rules that the user has, or may `escalate`; system:masters may write any."""
    assert await refusal("clusterroles", role(READ)) == ""
    assert "not currently held" in await refusal("clusterroles", role(WRITE))
    assert "not currently held" in await refusal("roles", role(WRITE), verb="!")
    assert await refusal("clusterroles", role(WRITE), verb="escalate") == ""
    assert await refusal("clusterroles", role(WRITE), user=UserInfo("x", ("system:masters",))) == ""


async def test_collected_objects() -> None:
    """Admit updates that change only what the garbage collector changes."""
    old = role(WRITE, finalizers=["a"])

    assert await refusal("roles", role(WRITE), old) == ""
    assert "not currently held" in await refusal("roles", role(WRITE, labels={"a": "b"}), old)


async def test_aggregation() -> None:
    """Demand all rights for an aggregationRule, the old one included."""
    aggregated = {**role(), "aggregationRule": {"clusterRoleSelectors": [{}]}}
    message = 'clusterroles.rbac.authorization.k8s.io "x" is forbidden: must have cluster-admin privileges to use the aggregationRule'

    assert await refusal("clusterroles", aggregated) == message
    assert await refusal("clusterroles", role(), aggregated) == message


@pytest.mark.parametrize(
    "name, verb, message",
    [
        ("reader", "", ""),
        ("writer", "", "not currently held"),
        ("writer", "bind", ""),
        ("gone", "", 'clusterrolebindings.rbac.authorization.k8s.io "gone" not found'),
    ],
)
async def test_bindings(name: str, verb: str, message: str) -> None:
    """Admit bindings to roles whose rights the user has, or to which it may `bind`."""
    binding = {"metadata": {"name": "x"}, "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}}

    found = await refusal("clusterrolebindings", binding, verb=verb)

    assert message in found if message else found == ""


async def test_other_resources() -> None:
    """Leave other resources alone."""
    assert await refusal("others", role(WRITE)) == ""
