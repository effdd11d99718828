"""One look at the way to a group: what was asked once is not asked again, so that all hops speak of the same moment."""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

from apiext.meta.host_annotations import SERVE_SELECTOR
from apiext.meta.selectors import LabelSelector, parse_label_selector
from apiext.operator.api_clients import API_SERVICES, CRDS, Json
from apiext.operator.apiservices.ownership import is_ours
from apiext.operator.group_state import labels_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.operator.checks.connections import Answer, Asks, Connects

PORT: Final = 443


class HopError(Exception):
    """Something on the way to a hop fails that an earlier hop should have named; the message says what."""


class Service(NamedTuple):
    """A Service of the host."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def host(self) -> str:
        """The name that apiext's certificate must have."""
        return f"{self.name}.{self.namespace}.svc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What apiext is meant to be to the host; what is left out is taken from the APIServices."""

    selector: str = SERVE_SELECTOR
    """Selects the host's definitions; empty for all."""
    service: Service | None = None
    port: int | None = None
    server: str = ""
    """URL of apiext; empty for that of the Service."""
    authority: str = ""
    """Authorities of apiext's certificate, in PEM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where the host proxies a group to."""

    service: Service
    port: int
    server: str
    """Where apiext is reached from here."""
    authority: str
    """In PEM; empty for the system's."""


@dataclass
class Look:
    """What the host and apiext answer now."""

    target: Target
    connects: Connects
    _told: dict[tuple[str, str], Answer] = field(default_factory=dict)

    @cached_property
    def selector(self) -> LabelSelector:
        """Selects the host's definitions."""
        return parse_label_selector(self.target.selector)

    async def host(self, path: str) -> Answer:
        """What the host answers to a GET. Raises NoAnswerError."""
        return await self._ask("host", self.connects.host(), path)

    async def host_for_stranger(self, path: str) -> Answer:
        """What the host answers to a GET of somebody without rights of their own. Raises NoAnswerError.

        Members of system:masters are let in unasked. Where the credentials may, they speak for a user that is new to all servers,
        else for themselves.
        """
        return await self._ask_as_stranger("host", self.connects.host(), path)

    async def host_items(self, path: str) -> list[Json]:
        """The objects of a collection of the host. Raises HopError where it cannot be read, NoAnswerError."""
        return _items(await self.host(path), path)

    async def apiext(self, group: str, path: str, *, known: bool = True) -> Answer:
        """What apiext answers to a GET; without the credentials for the host where it is not `known`. Raises NoAnswerError, HopError."""
        return await self._ask(f"apiext {group} {known}", await self.client(group, known=known), path)

    async def apiext_for_stranger(self, group: str, path: str) -> Answer:
        """What apiext answers to a GET of such a user. Raises NoAnswerError, HopError."""
        return await self._ask_as_stranger(f"apiext {group} True", await self.client(group), path)

    async def apiext_items(self, group: str, path: str) -> list[Json]:
        """The objects of a collection of apiext. Raises HopError where it cannot be read, NoAnswerError."""
        return _items(await self.apiext(group, path), path)

    async def client(self, group: str, *, known: bool = True) -> Asks:
        """A client of apiext. Raises HopError where it is not known where that is, NoAnswerError."""
        route = await self.route(group)
        return self.connects.apiext(route.server, name=route.service.host, authority=route.authority, known=known)

    async def route(self, group: str) -> Route:
        """Where the group is proxied to, or is meant to be. Raises HopError where nothing says so, NoAnswerError."""
        target, all_of_them = self.target, await self.host_items(API_SERVICES)
        proxied = [one for one in await self.api_services(group) if one["spec"].get("service")]
        registered = proxied or [one for one in all_of_them if self._is_ours(one)]
        spec = registered[0]["spec"] if registered else {}
        service = target.service or (Service(spec["service"]["namespace"], spec["service"]["name"]) if spec else None)
        if service is None:
            raise HopError(f"no APIService of group {group} names a Service, and no --service is given")
        port = target.port or (spec["service"].get("port") or PORT if spec else PORT)
        authority = bundle_of(spec) or target.authority
        return Route(service=service, port=port, server=target.server or f"https://{service.host}:{port}", authority=authority)

    async def api_services(self, group: str) -> list[Json]:
        """The host's APIServices of a group. Raises HopError, NoAnswerError."""
        return [one for one in await self.host_items(API_SERVICES) if one["spec"].get("group", "") == group]

    async def definitions(self, group: str) -> list[Json]:
        """The host's definitions of a group. Raises HopError, NoAnswerError."""
        return [one for one in await self.host_items(CRDS) if one["spec"]["group"] == group]

    async def mirrors(self, group: str) -> list[Json]:
        """Apiext's definitions of a group. Raises HopError, NoAnswerError."""
        return [one for one in await self.apiext_items(group, CRDS) if one["spec"]["group"] == group]

    async def versions(self, group: str) -> list[str]:
        """The versions that must be registered: those that the host's definitions serve, or where it has none those that are."""
        crds = await self.definitions(group)
        served = {version["name"]: None for crd in crds for version in crd["spec"]["versions"] if version.get("served")}
        return list(served or {one["spec"]["version"]: None for one in await self.api_services(group)})

    async def groups(self) -> list[str]:
        """The groups that apiext serves, or should. Raises HopError, NoAnswerError."""
        selected = [crd["spec"]["group"] for crd in await self.host_items(CRDS) if self.selects(crd)]
        registered = [one["spec"]["group"] for one in await self.host_items(API_SERVICES) if self._is_ours(one)]
        return sorted({*selected, *registered})

    def selects(self, crd: Json) -> bool:
        """Whether a definition of the host is meant for apiext."""
        return self.selector.matches(labels_of(crd))

    def _is_ours(self, api_service: Json) -> bool:
        service, ours = api_service["spec"].get("service") or {}, self.target.service
        named = (service.get("namespace"), service.get("name")) == ours
        return bool(service) and (named or is_ours(api_service, str(ours or "")))

    async def _ask_as_stranger(self, whom: str, asks: Asks, path: str) -> Answer:
        key = (f"{whom} stranger", path)
        if key not in self._told:
            user = {"Impersonate-User": f"apiext:doctor:{secrets.token_hex(4)}", "Impersonate-Group": "system:authenticated"}
            answer = await asks(path, user)
            refused = answer.code == 403 and "impersonate" in answer.text
            self._told[key] = await self._ask(whom, asks, path) if refused else answer
        return self._told[key]

    async def _ask(self, whom: str, asks: Asks, path: str) -> Answer:
        if (whom, path) not in self._told:
            self._told[whom, path] = await asks(path)
        return self._told[whom, path]


def named(objects: Iterable[Json]) -> str:
    """The names of objects, as a sentence has them."""
    return ", ".join(one["metadata"]["name"] for one in objects)


def bundle_of(spec: Json) -> str:
    """The caBundle of an APIService in PEM, empty where it has none or none that can be read."""
    try:
        return base64.b64decode(spec.get("caBundle") or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def query(path: str, **parameters: str) -> str:
    """A path with parameters."""
    return f"{path}?{urlencode(parameters)}"


def _items(answer: Answer, path: str) -> list[Json]:
    if answer.code != 200:
        raise HopError(f"{path} is answered with {answer}")
    return list(answer.object.get("items") or ())
