"""Ends the host's own watches of a resource, which stay open when the host starts to proxy the group.

Behaviour of kube-apiserver 1.37, as measured:

- A switch of an APIService to a Service and back takes effect within 0.1 s; the group is never 404 or 503 meanwhile. Running requests and
  open watches stay with the server that they reached.
- A change of a definition's spec makes it close the storage of the definition's instances: open watches end without an event 1.0 s later;
  new requests get 429 "storage is (re)initializing" for some milliseconds. A change of any field works, even if it is reverted at once. An
  update with an identical spec, other metadata, or a condition ends no watch.
- So an unused category is added to the names, and removed again. The host has seen each change when `status.acceptedNames` shows it.
  Mirrors lack the category, so apiext's watches stay open.
"""

from __future__ import annotations

from apiext.base.meta.host_annotations import ADOPTION_CATEGORY
from apiext.operator.adoption.polling import until
from apiext.operator.api_clients import CRDS, ApiClient, Json
from apiext.operator.host_definitions import Change, amend


async def reset_watches(host: ApiClient, crd: Json) -> None:
    """Make the host end its watches of a definition's instances; the definition is unchanged afterwards.

    An interrupted call leaves the category; the next call removes it. A deleted definition is ignored.

    Raises:
        ApiError: a call failed, or the host did not accept the names within the timeout.
    """
    for present in (True, False):
        found = await amend(host, crd, _set_category(present=present))
        if found is None:
            return
        crd = found
        await _wait_until_accepted(host, crd["metadata"]["name"], present=present)


def _set_category(*, present: bool) -> Change:
    """Return the change that adds or removes the category."""

    def change(crd: Json) -> Json | None:
        categories = _categories(crd["spec"]["names"])
        if (ADOPTION_CATEGORY in categories) is present:
            return None
        wanted = [*categories, ADOPTION_CATEGORY] if present else [one for one in categories if one != ADOPTION_CATEGORY]
        return {"spec": {"names": {"categories": wanted or None}}}

    return change


async def _wait_until_accepted(host: ApiClient, name: str, *, present: bool) -> None:
    async def holds() -> bool:
        crd = await host.find(f"{CRDS}/{name}")
        return crd is None or (ADOPTION_CATEGORY in _categories((crd.get("status") or {}).get("acceptedNames") or {})) is present

    await until(holds, lambda: f"the host does not copy the names of {name} to its status")


def _categories(names: Json) -> list[str]:
    return names.get("categories") or []
