"""What one reader may see of the map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.api.authorization.authorizer import Decision, ReviewError
from apiext.base.meta.request import RequestInfo

if TYPE_CHECKING:
    from apiext.api.authorization.authorizer import Authorize
    from apiext.base.meta.gvk import GroupVersionResource
    from apiext.base.meta.request import UserInfo
    from apiext.server.version_map.entries import DefinitionEntry, NamesShown


class ReaderView:
    """The map for one user at one moment: names of objects only if the user may list them. Not to be kept: permissions change."""

    def __init__(self, user: UserInfo, authorize: Authorize) -> None:
        self._user = user
        self._authorize = authorize
        self._decisions: dict[GroupVersionResource, bool] = {}

    async def names(self, entry: DefinitionEntry) -> NamesShown:
        """Return which parts of an entry the user sees."""
        return tuple([await self._may_list(part.resource) for part in entry.named])

    async def _may_list(self, resource: GroupVersionResource) -> bool:
        """Report whether the user may list all objects of a resource. An authorizer that fails allows nothing."""
        if resource not in self._decisions:
            self._decisions[resource] = await self._asked(resource)
        return self._decisions[resource]

    async def _asked(self, resource: GroupVersionResource) -> bool:
        group, version, plural = resource
        path = f"/apis/{group}/{version}/{plural}"
        info = RequestInfo(
            is_resource=True, path=path, verb="list", api_prefix="apis", group=group, version=version, resource=plural, parts=(plural,)
        )
        try:
            return (await self._authorize(self._user, info)).decision is Decision.ALLOW
        except ReviewError:
            return False
