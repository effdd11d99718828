"""Which media type an answer has, and which a body is read as.

Mirrors apiserver pkg/endpoints/handlers/negotiation, with the clause order of munnerz/goautoneg.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aiohttp import web

from apiext.meta import errors

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
META_GROUP: Final = "meta.k8s.io"
META_VERSIONS: Final = frozenset({"v1", "v1beta1"})

_HUMANS: Final = ("curl", "Wget", "Mozilla/5.0")
_FEW: Final = 12
"""Clauses that Go sorts by insertion."""
_READ: Final = frozenset({JSON, YAML})
"""Types of bodies of every kind."""
_PARAM: Final = re.compile(r"""[ \t;]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=([!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[^"\\]|\\.)*")[ \t]*(?=;|$)""")
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})


@dataclass(frozen=True, slots=True)
class Convert:
    """The transformation that a client asks for with `as`, `g` and `v`."""

    kind: str = ""
    group: str = ""
    version: str = ""

    @property
    def api_version(self) -> str:
        """The group and version of the transformed object."""
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, slots=True)
class MediaType:
    """What was agreed on for the answer."""

    type: str = JSON
    convert: Convert | None = None
    pretty: bool = False
    stream: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """What an endpoint can write."""

    types: Sequence[str] = (JSON, YAML, PROTOBUF)
    """Written types, the preferred one first."""
    plain: Sequence[str] = (JSON, YAML, PROTOBUF)
    """Those of them in which an answer can be written as it is, not transformed."""
    named: Sequence[str] = (JSON, YAML, PROTOBUF)
    """Types that a refusal names."""
    named_streams: Sequence[str] = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
    converts: frozenset[str] = frozenset()
    """Kinds of meta.k8s.io that the endpoint transforms its answer to; a Table cannot be Protobuf."""
    server_version: str = ""
    """What `sv` may ask for."""

    def allows(self, media_type: str, convert: Convert | None) -> bool:
        """Whether the type may be written, transformed as asked."""
        if convert is None:
            return media_type in self.plain
        return (
            convert.kind in self.converts
            and convert.group == META_GROUP
            and convert.version in META_VERSIONS
            and (convert.kind != "Table" or media_type != PROTOBUF)
        )


_PARTIALS: Final = frozenset({"PartialObjectMetadata", "PartialObjectMetadataList"})
_CONVERTS: Final = _PARTIALS | {"Table"}
RESOURCE_OFFERS: Final = Offers(plain=(JSON, YAML), converts=_CONVERTS, server_version="v1")
"""What the endpoints of custom resources write."""
BUILTIN_OFFERS: Final = Offers(converts=_CONVERTS, server_version="v1")
"""What the endpoints of built-in kinds write."""
UNTABLED_OFFERS: Final = Offers(converts=_PARTIALS, server_version="v1")
"""What those of them write that have no tables."""
STATUS_OFFERS: Final = Offers()
"""What errors are written as."""


class Clause:
    """One clause of an Accept header."""

    __slots__ = ("params", "quality", "subtype", "type")

    def __init__(self, type: str, subtype: str, quality: float, params: dict[str, str]) -> None:
        self.type = type
        self.subtype = subtype
        self.quality = quality
        self.params = params

    def matches(self, media_type: str) -> bool:
        """Whether it names the type, or all of its kind, or all."""
        kind, _, subtype = media_type.partition("/")
        return (self.type == kind and self.subtype in {subtype, "*"}) or (self.type == "*" and self.subtype == "*")


def clauses(header: str) -> list[Clause]:
    """Clauses from the most to the least wanted; malformed ones are left out."""
    parsed = [clause for part in header.split(",") if (clause := _clause(part.strip(" "))) is not None]
    if len(parsed) > _FEW:
        return sorted(parsed, key=lambda clause: (-clause.quality, clause.type == "*", clause.subtype == "*"))
    # The reference's order is no ordering (a specific clause goes before a wildcard of higher quality), so how it sorts matters.
    for end in range(1, len(parsed)):
        for at in range(end, 0, -1):
            if not _before(parsed[at], parsed[at - 1]):
                break
            parsed[at], parsed[at - 1] = parsed[at - 1], parsed[at]
    return parsed


def _before(one: Clause, other: Clause) -> bool:
    return one.quality > other.quality or (one.type != "*" and other.type == "*") or (one.subtype != "*" and other.subtype == "*")


def _clause(part: str) -> Clause | None:
    head, _, rest = part.partition(";")
    kind, _, subtype = head.partition("/")
    kind, subtype = kind.strip(" "), subtype.strip(" ")
    if not subtype:
        if kind != "*":
            return None
        subtype = "*"
    if "/" in subtype:
        return None
    quality, params = 1.0, {}
    for param in rest.split(";"):
        name, _, text = param.partition("=")
        if not text or "=" in text:
            continue
        if name.strip(" ") == "q":
            quality = _quality(text)
        else:
            params[name.strip(" ")] = text.strip(" ")
    return Clause(kind, subtype, quality, params)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _options(params: dict[str, str], media_type: str, offers: Offers) -> MediaType | None:
    """The parameters of a clause as options; None when the endpoint cannot honour them."""
    convert = None
    if "as" in params or "g" in params or "v" in params:
        convert = Convert(params.get("as", ""), params.get("g", ""), params.get("v", ""))
    stream = params.get("stream", "")
    if stream and (stream != "watch" or media_type == YAML):
        return None
    if params.get("sv", "") not in {"", offers.server_version}:
        return None
    if not offers.allows(media_type, convert):
        return None
    return MediaType(media_type, convert, params.get("pretty") == "1", stream, params.get("profile", ""))


def _choose(accept: str, offers: Offers) -> MediaType | None:
    if not accept:
        return MediaType(offers.types[0])
    for clause in clauses(accept):
        for media_type in offers.types:
            if clause.matches(media_type) and (agreed := _options(clause.params, media_type, offers)) is not None:
                return agreed
    return None


_choose_cached: Callable[[str, Offers], MediaType | None] = lru_cache(maxsize=512)(_choose)


def negotiate(accept: str, offers: Offers = RESOURCE_OFFERS) -> MediaType:
    """The media type for an Accept header; raises StatusError (406)."""
    agreed = _choose_cached(accept, offers) if len(accept) <= 512 else _choose(accept, offers)
    if agreed is None:
        raise not_acceptable(offers.named)
    return agreed


def negotiate_output(request: web.BaseRequest, offers: Offers) -> MediaType:
    """The media type of an answer to a request; raises StatusError (406)."""
    agreed = negotiate(request.headers.get("Accept", ""), offers)
    if agreed.pretty or agreed.type != JSON or not wants_pretty(request):
        return agreed
    return MediaType(agreed.type, agreed.convert, pretty=True, stream=agreed.stream, profile=agreed.profile)


def negotiate_stream(request: web.BaseRequest, offers: Offers) -> MediaType:
    """The media type of a watch; raises StatusError (406): a watch cannot be YAML."""
    agreed = negotiate(request.headers.get("Accept", ""), offers)
    if agreed.type == YAML:
        raise not_acceptable(offers.named_streams)
    return agreed


def wants_pretty(request: web.BaseRequest) -> bool:
    """Whether a human asks: by `?pretty`, or with a program that humans use."""
    query = request.rel_url.raw_query_string
    if "pretty" in query:
        chosen = request.query.get("pretty", "")
        if chosen:
            return chosen in _TRUE
    return request.headers.get("User-Agent", "").startswith(_HUMANS)


def not_acceptable(types: Sequence[str]) -> errors.StatusError:
    """406 that names what could be had."""
    return errors.not_acceptable(f"only the following media types are accepted: {', '.join(types)}")


def check_route(request: web.BaseRequest, types: Sequence[str]) -> None:
    """Refuse what go-restful finds no route for: built-in endpoints compare types as texts before anything is negotiated.

    Raises:
        StatusError: 406 that names what could be had.
    """
    accept = request.headers.get("Accept")
    if not accept or accept in {JSON, "*/*"}:
        return
    asked = {clause.partition(";")[0].strip(" ") for clause in accept.split(",")}
    if "*/*" not in asked and asked.isdisjoint(types):
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(types)}"
        raise errors.StatusError(406, "NotAcceptable", message, {})


def unsupported_media_type(types: Sequence[str]) -> errors.StatusError:
    """415 that names what can be read."""
    return errors.unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(types)}"
    )


def input_type(content_type: str, offers: Offers, *, protobuf: bool = False) -> str:
    """What a body is read as, JSON when nothing is said; raises StatusError (415)."""
    if not content_type:
        return offers.types[0]
    base, semicolon, params = content_type.partition(";")
    media_type = base.strip().lower()
    if semicolon and not _are_params(params):
        raise unsupported_media_type(offers.named)
    if media_type not in _READ and not (protobuf and media_type == PROTOBUF):
        raise unsupported_media_type(offers.named)
    return media_type


def _are_params(text: str) -> bool:
    """Whether parameters of a Content-Type can be read (mime.ParseMediaType): none twice with other values, a semicolon at the end."""
    found: dict[str, str] = {}
    at = 0
    while match := _PARAM.match(text, at):
        name, value = match[1].lower(), match[2]
        if found.setdefault(name, value) != value:
            return False
        at = match.end()
    return not text[at:].strip(" \t;")
