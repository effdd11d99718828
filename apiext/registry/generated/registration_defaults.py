"""Defaults of APIServices (kube-aggregator pkg/apis/apiregistration/v1/defaults.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object

_HTTPS: Final = 443


def _service(service: Object) -> None:
    service.setdefault("port", _HTTPS)


DEFAULTS: Final = {"kube-aggregator/pkg/apis/apiregistration/v1.ServiceReference": _service}
"""Defaults by struct."""
