"""Keys: where the objects of a resource live, laid out as kube-apiserver lays them out.

`<prefix>/<group>/<resource>/<namespace>/<name>`, without the group for the core group and without the namespace for
resources outside namespaces (apiserver pkg/registry/generic: NamespaceKeyFunc, NoNamespaceKeyFunc).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apiext.meta.gvk import GroupResource
    from apiext.storage.interface import Selection


def root(prefix: str) -> str:
    """The prefix of all keys, as `--etcd-prefix` gives it, with one slash at each end."""
    return f"/{prefix.strip('/')}/".replace("//", "/")


def resource_prefix(prefix: str, resource: GroupResource) -> str:
    """Where a resource's objects live, with a final slash."""
    parts = (resource.group, resource.resource) if resource.group else (resource.resource,)
    return f"{root(prefix)}{'/'.join(parts)}/"


def is_single(scope: str) -> bool:
    """Whether a scope names one key rather than all keys below it."""
    return bool(scope) and not scope.endswith("/")


def covers(scope: str, key: str) -> bool:
    """Whether a key lies in a scope: "" for all, "namespace/", or one key."""
    return key == scope if is_single(scope) else key.startswith(scope)


def narrow(prefix: str, selection: Selection) -> str:
    """The smallest scope that holds all that a selection can match below a prefix.

    A selector for one namespace narrows the whole resource to it, one for a name turns a namespace into a single key.
    """
    if selection.fields is None or is_single(prefix):
        return prefix
    if not prefix:
        namespace = selection.fields.requires_exact("metadata.namespace")
        if namespace and "/" not in namespace:
            prefix = f"{namespace}/"
    name = selection.fields.requires_exact("metadata.name")
    return f"{prefix}{name}" if name and "/" not in name and prefix else prefix
