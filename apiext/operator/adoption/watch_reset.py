"""Ending the host's own watches of a resource, which go on though it proxies the group by now.

What kube-apiserver 1.37 does, as it was asked:

- Flipping an APIService to a service and back takes effect within 0.1 s, and the group is never 404 or 503 meanwhile. Requests that are
  under way and open watches stay with whom they are; nobody tells them.
- A change of a definition's spec makes it tear down the storage of the definition's instances: open watches end in order (no
  event of any kind) 1.0 s after it; new requests get 429 "storage is (re)initializing" for some milliseconds. Which field does
  not matter, and it happens even where the change is taken back at once. An update with an identical spec, other metadata, or
  a condition ends nothing.
- So a category that nobody uses is added to the names and removed again. Either has been seen by the host when
  `status.acceptedNames` has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.operator.adoption.polling import until
from apiext.operator.api_clients import CRDS
from apiext.operator.host_definitions import amend

if TYPE_CHECKING:
    from apiext.operator.api_clients import Api, Json
    from apiext.operator.host_definitions import Change

CATEGORY: Final = "apiext-adoption"


async def touch(host: Api, crd: Json) -> None:
    """Return when the host has begun to end its watches of a definition's instances; the definition is as before.

    Broken off in the middle, it leaves the category there; the next one removes it. A definition that has gone is left alone.

    Raises:
        ApiError: the host does not take it.
    """
    for there in (True, False):
        found = await amend(host, crd, _categorized(there=there))
        if found is None:
            return
        crd = found
        await _accepted(host, crd["metadata"]["name"], there=there)


def _categorized(*, there: bool) -> Change:
    """Have the category among the names, or not."""

    def change(crd: Json) -> Json | None:
        categories = _categories(crd["spec"]["names"])
        if (CATEGORY in categories) is there:
            return None
        wanted = [*categories, CATEGORY] if there else [one for one in categories if one != CATEGORY]
        return {"spec": {"names": {"categories": wanted or None}}}

    return change


async def _accepted(host: Api, name: str, *, there: bool) -> None:
    async def holds() -> bool:
        crd = await host.find(f"{CRDS}/{name}")
        return crd is None or (CATEGORY in _categories((crd.get("status") or {}).get("acceptedNames") or {})) is there

    await until(holds, lambda: f"the host does not take over the names of {name} into its status")


def _categories(names: Json) -> list[str]:
    return names.get("categories") or []
