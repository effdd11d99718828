"""Keys of objects, laid out as in kube-apiserver.

`<prefix>/<group>/<resource>/<namespace>/<name>`, without the group for resources of kube-apiserver itself and without the namespace for
cluster-scoped resources (apiserver pkg/registry/generic: NamespaceKeyFunc, NoNamespaceKeyFunc; pkg/server/storage: ResourcePrefix).
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta.gvk import GroupResource
from apiext.storage.interface import Selection

LAST: Final = "\U0010ffff"
"""Upper bound of all keys."""


def prefix_end(prefix: str) -> str:
    """Return the smallest string above every string with the prefix, in the byte order of UTF-8. Return LAST for no prefix.

    Mirrors clientv3.GetPrefixRangeEnd.
    """
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else LAST


def root(prefix: str) -> str:
    """Return the prefix of all keys from `--etcd-prefix`, with one slash at each end."""
    return f"/{prefix.strip('/')}/".replace("//", "/")


def resource_prefix(prefix: str, resource: GroupResource) -> str:
    """Return the key prefix of a resource, with a final slash; resources of kube-apiserver itself are named without their group."""
    group = f"{resource.group}/" if resource.group else ""
    return f"{root(prefix)}{group}{resource.resource}/"


def is_single(scope: str) -> bool:
    """Report whether a scope is a single key, not a prefix."""
    return bool(scope) and not scope.endswith("/")


def covers(scope: str, key: str) -> bool:
    """Report whether a key is in a scope: "" for all, "namespace/", or one key."""
    return key == scope if is_single(scope) else key.startswith(scope)


def narrow(prefix: str, selection: Selection) -> str:
    """Return the smallest scope with all objects of a selection below a prefix.

    A namespace in the selection narrows the resource to that namespace, a name narrows a namespace to one key.
    """
    if selection.fields is None or is_single(prefix):
        return prefix
    if not prefix:
        namespace = selection.fields.requires_exact("metadata.namespace")
        if namespace and "/" not in namespace:
            prefix = f"{namespace}/"
    name = selection.fields.requires_exact("metadata.name")
    return f"{prefix}{name}" if name and "/" not in name and prefix else prefix
