"""Puts stored roles and bindings into the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.api.authorization.rbac.policy import Binding, RoleRef, Subject
from apiext.api.authorization.rbac.rules import read_rules

if TYPE_CHECKING:
    from apiext.api.authorization.rbac.policy import RolePolicy
    from apiext.base.meta.encoding.json_codec import Object


def put(policy: RolePolicy, resource: str, obj: Object) -> None:
    """Put a role or binding."""
    metadata = obj["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if resource.endswith("roles"):
        policy.put_role(namespace, name, read_rules(obj.get("rules")))
        return
    reference = obj["roleRef"]
    subjects = tuple(Subject(each["kind"], each["name"], each.get("namespace", "")) for each in obj.get("subjects") or ())
    policy.put_binding(Binding(namespace, name, RoleRef(reference["kind"], reference["name"]), subjects))


def remove(policy: RolePolicy, resource: str, namespace: str, name: str) -> None:
    """Remove a role or binding."""
    if resource.endswith("roles"):
        policy.remove_role(namespace, name)
    else:
        policy.remove_binding(namespace, name)
