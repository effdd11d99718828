"""The state of host and apiext for one run of the checks: each request is sent once, so that all checks see the same responses."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from apiext.base.meta.host_annotations import SERVE_SELECTOR
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.base.meta.selectors import LabelSelector
from apiext.operator.adoption.object_pages import resource
from apiext.operator.api_clients import API_SERVICES, CRDS, Json
from apiext.operator.checks.connections import Answer, Asks, Connections
from apiext.operator.group_state import labels_of
from apiext.operator.names import NamespacedName
from apiext.operator.ownership import is_ours

PORT: Final = 443


class CheckError(Exception):
    """A precondition of a check does not hold, although an earlier check passed. The message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTarget:
    """The intended address and selector of apiext; APIServices supply missing parts."""

    selector: str = SERVE_SELECTOR
    """Label selector of the host's definitions; empty for all."""
    service: NamespacedName | None = None
    port: int | None = None
    server: str = ""
    """URL of apiext; empty for that of the Service."""
    authority: str = ""
    """Authorities of apiext's certificate, in PEM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The address to which the host proxies a group."""

    service: NamespacedName
    port: int
    server: str
    """URL of apiext from here."""
    authority: str
    """Authorities in PEM; empty for the system's."""


@dataclass
class Snapshot:
    """The responses of host and apiext. Methods that send requests raise NoAnswerError if a server does not respond."""

    target: CheckTarget
    connections: Connections
    _responses: dict[tuple[str, str, bool], Answer] = field(default_factory=dict)

    @cached_property
    def selector(self) -> LabelSelector:
        """The label selector of the host's definitions."""
        return parse_label_selector(self.target.selector)

    async def host(self, path: str, *, stranger: bool = False) -> Answer:
        """Return the host's response to a GET. With `stranger`, send it as a user without own permissions. Raises NoAnswerError."""
        return await self._ask("host", self.connections.host(), path, stranger=stranger)

    async def host_items(self, path: str) -> list[Json]:
        """Return the objects of a collection of the host. Raises CheckError if it cannot be read, NoAnswerError."""
        return _items(await self.host(path), path)

    async def apiext(self, group: str, path: str, *, known: bool = True, stranger: bool = False) -> Answer:
        """Return apiext's response to a GET. Without `known`, send no credentials; with `stranger`, as a user without own permissions.

        Raises:
            NoAnswerError: apiext did not respond.
            CheckError: its address is unknown.
        """
        route = await self.route(group)
        client = self.connections.apiext(route.server, name=route.service.host, authority=route.authority, known=known)
        return await self._ask(f"apiext {group} {known}", client, path, stranger=stranger)

    async def route(self, group: str) -> Route:
        """Return the present or intended address of a group. Raises CheckError if it is unknown, NoAnswerError."""
        target, all_of_them = self.target, await self.host_items(API_SERVICES)
        proxied = [one for one in await self.api_services(group) if one["spec"].get("service")]
        registered = proxied or [one for one in all_of_them if self._is_ours(one)]
        spec = registered[0]["spec"] if registered else {}
        service = target.service or (NamespacedName(spec["service"]["namespace"], spec["service"]["name"]) if spec else None)
        if service is None:
            raise CheckError(f"no APIService of group {group} names a Service, and no --service is given")
        port = target.port or (spec["service"].get("port") or PORT if spec else PORT)
        authority = bundle_of(spec) or target.authority
        return Route(service=service, port=port, server=target.server or f"https://{service.host}:{port}", authority=authority)

    async def api_services(self, group: str) -> list[Json]:
        """Return the host's APIServices of a group. Raises CheckError, NoAnswerError."""
        return [one for one in await self.host_items(API_SERVICES) if one["spec"].get("group", "") == group]

    async def definitions(self, group: str) -> list[Json]:
        """Return the host's definitions of a group. Raises CheckError, NoAnswerError."""
        return [one for one in await self.host_items(CRDS) if one["spec"]["group"] == group]

    async def mirrors(self, group: str) -> list[Json]:
        """Return apiext's definitions of a group. Raises CheckError, NoAnswerError."""
        return [one for one in _items(await self.apiext(group, CRDS), CRDS) if one["spec"]["group"] == group]

    async def versions(self, group: str) -> list[str]:
        """Return the versions that the host's definitions serve and thus must be registered; without definitions the registered ones."""
        crds = await self.definitions(group)
        served = {version["name"]: None for crd in crds for version in crd["spec"]["versions"] if version.get("served")}
        return list(served or {one["spec"]["version"]: None for one in await self.api_services(group)})

    async def empty_list(self, group: str) -> str:
        """Return the path of an empty list of objects of the group; empty if no definition is served. Raises CheckError, NoAnswerError."""
        crds = await self.definitions(group) or await self.mirrors(group)
        return next((found.empty_list for crd in crds if (found := resource(crd)) is not None), "")

    async def groups(self) -> list[str]:
        """Return the groups that apiext serves or should serve. Raises CheckError, NoAnswerError."""
        selected = [crd["spec"]["group"] for crd in await self.host_items(CRDS) if self.selects(crd)]
        registered = [one["spec"]["group"] for one in await self.host_items(API_SERVICES) if self._is_ours(one)]
        return sorted({*selected, *registered})

    def selects(self, crd: Json) -> bool:
        """Return whether a definition of the host is selected."""
        return self.selector.matches(labels_of(crd))

    def _is_ours(self, api_service: Json) -> bool:
        service, ours = api_service["spec"].get("service") or {}, self.target.service
        named = (service.get("namespace"), service.get("name")) == ours
        return bool(service) and (named or is_ours(api_service, str(ours or "")))

    async def _ask(self, server: str, asks: Asks, path: str, *, stranger: bool = False) -> Answer:
        """Send a request once; return the same response for a repeated one.

        With `stranger`, impersonate a new user if the credentials permit it: members of system:masters are authorized without a review.
        """
        key = (server, path, stranger)
        if key not in self._responses:
            user = {"Impersonate-User": f"apiext:doctor:{secrets.token_hex(4)}", "Impersonate-Group": "system:authenticated"}
            answer = await asks(path, user if stranger else {})
            refused = stranger and answer.code == 403 and "impersonate" in answer.text
            self._responses[key] = await self._ask(server, asks, path) if refused else answer
        return self._responses[key]


def named(objects: Iterable[Json]) -> str:
    """Return the names of objects as text."""
    return ", ".join(one["metadata"]["name"] for one in objects)


def bundle_of(spec: Json) -> str:
    """Return the caBundle of an APIService in PEM, empty if it has none or it is not base64."""
    try:
        return base64.b64decode(spec.get("caBundle") or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _items(answer: Answer, path: str) -> list[Json]:
    if answer.code != 200:
        raise CheckError(f"{path} is answered with {answer}")
    return list(answer.object.get("items") or ())
