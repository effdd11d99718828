"""Which requests may take as long as they want (apiserver pkg/server/filters/longrunning.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta.host_annotations import IMPORT_PATH

if TYPE_CHECKING:
    from apiext.meta.request import RequestInfo

_VERBS: Final = frozenset({"watch", "proxy"})
_SUBRESOURCES: Final = frozenset({"attach", "exec", "proxy", "log", "portforward"})


def is_long_running(info: RequestInfo) -> bool:
    """Whether neither timeouts nor limits of concurrency hold for the request."""
    if not info.is_resource:
        return info.verb in _VERBS or info.path.startswith(IMPORT_PATH)
    return info.verb in _VERBS or info.subresource in _SUBRESOURCES
