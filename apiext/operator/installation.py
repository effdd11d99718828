"""Whose something on the host is: several apiexts may serve groups of one cluster, each behind a Service of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import marks

if TYPE_CHECKING:
    from apiext.operator.clients import Json


def service_of(found: Json) -> str:
    """The Service of the apiext whose operator has written to an object, as NAMESPACE/NAME; empty where that is not said."""
    return str((found["metadata"].get("annotations") or {}).get(marks.SERVICE) or "")


def is_of_another(found: Json, service: str) -> bool:
    """Whether an object says that it is of an apiext behind another Service."""
    return service_of(found) not in {"", service}
