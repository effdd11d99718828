"""Negotiation of the media types of responses and bodies.

Mirrors apiserver pkg/endpoints/handlers/negotiation, with the clause order of munnerz/goautoneg.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final, NamedTuple

from aiohttp import web

from apiext.api.endpoints.request import SERVES_CBOR
from apiext.base.meta import errors
from apiext.base.meta.limits import MAX_ACCEPTED_TYPES

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
CBOR: Final = "application/cbor"
CBOR_SEQUENCE: Final = "application/cbor-seq"
"""Media type of a watch in CBOR."""
MEDIA_TYPES: Final = (JSON, YAML, PROTOBUF)
"""Types of responses, the preferred one first; a 406 and a 415 list them."""
STREAM_MEDIA_TYPES: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
"""Types that the 406 of a watch lists."""
META_GROUP: Final = "meta.k8s.io"
_META_VERSIONS: Final = frozenset({"v1", "v1beta1"})

_HUMAN_USER_AGENTS: Final = ("curl", "Wget", "Mozilla/5.0")
_ANY_JSON: Final = frozenset({"", JSON, "*/*"})
"""Accept headers whose answer is JSON at every endpoint."""
_WORD: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
_PARAMS: Final = re.compile(rf"""(?:[ \t;]*+{_WORD}=(?:{_WORD}|"(?:[^"\\]|\\.)*+")[ \t]*+(?=;|$))*+[ \t;]*""")
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})


@dataclass(frozen=True, slots=True)
class Convert:
    """The transformation that a client requests with `as`, `g` and `v`."""

    kind: str = ""
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class MediaType:
    """The negotiated media type of a response."""

    type: str = JSON
    convert: Convert | None = None
    pretty: bool = False


_PLAIN_JSON: Final = MediaType()


@dataclass(frozen=True, slots=True)
class Offers:
    """The media types that an endpoint can write."""

    plain: Sequence[str] = MEDIA_TYPES
    """Types for responses without a transformation."""
    converts: frozenset[str] = frozenset()
    """Kinds of meta.k8s.io for transformed responses. A Table can be JSON or YAML only."""
    server_version: str = ""
    """Allowed version in `sv`."""
    types: tuple[str, ...] = MEDIA_TYPES
    """All types that the server writes; a 406 names them."""

    def with_cbor(self) -> Offers:
        """Return the offers of a server that serves CBOR."""
        return replace(self, plain=(*self.plain, CBOR), types=(*self.types, CBOR))

    def allows(self, media_type: str, convert: Convert | None) -> bool:
        """Return whether the endpoint can write a type with a transformation."""
        if convert is None:
            return media_type in self.plain
        return (
            convert.kind in self.converts
            and convert.group == META_GROUP
            and convert.version in _META_VERSIONS
            and (convert.kind != "Table" or media_type not in {PROTOBUF, CBOR})
        )


_PARTIALS: Final = frozenset({"PartialObjectMetadata", "PartialObjectMetadataList"})
_CONVERTS: Final = _PARTIALS | {"Table"}
RESOURCE_OFFERS: Final = Offers(plain=(JSON, YAML), converts=_CONVERTS, server_version="v1")
"""Offers of endpoints of custom resources."""
BUILTIN_OFFERS: Final = Offers(converts=_CONVERTS, server_version="v1")
"""Offers of endpoints of built-in kinds."""
TABLELESS_OFFERS: Final = Offers(converts=_PARTIALS, server_version="v1")
"""Offers of endpoints of built-in kinds without tables."""
PLAIN_OFFERS: Final = Offers()
"""Offers of errors and of discovery."""


class Clause(NamedTuple):
    """A clause of an Accept header."""

    type: str
    subtype: str
    quality: float
    params: dict[str, str]

    def matches(self, media_type: str) -> bool:
        """Return whether the clause matches a type, by name or wildcard."""
        kind, _, subtype = media_type.partition("/")
        return (self.type == kind and self.subtype in {subtype, "*"}) or (self.type == "*" and self.subtype == "*")


def clauses(header: str) -> list[Clause]:
    """Return the first MAX_ACCEPTED_TYPES clauses of an Accept header by preference, without malformed ones.

    A type precedes wildcards, even those of a higher quality.
    """
    parts = header.split(",", MAX_ACCEPTED_TYPES)[:MAX_ACCEPTED_TYPES]
    parsed = [clause for part in parts if (clause := _clause(part.strip(" "))) is not None]
    return sorted(parsed, key=lambda clause: (clause.type == "*", clause.subtype == "*", -clause.quality))


def _clause(part: str) -> Clause | None:
    head, _, rest = part.partition(";")
    kind, _, tail = head.partition("/")
    kind = kind.strip(" ")
    if not tail and kind != "*":
        return None
    subtype, _, more = (tail or "*").partition("/")
    if more:
        return None
    quality, params = 1.0, {}
    for param in rest.split(";", MAX_ACCEPTED_TYPES)[:MAX_ACCEPTED_TYPES]:
        name, _, tail = param.partition("=")
        text, _, more = tail.partition("=")
        if more or not tail:
            continue
        if name.strip(" ") == "q":
            quality = _quality(text)
        else:
            params[name.strip(" ")] = text.strip(" ")
    return Clause(kind, subtype.strip(" "), quality, params)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _options(params: dict[str, str], media_type: str, offers: Offers) -> MediaType | None:
    """Return the options in a clause's parameters; None if the endpoint does not support them."""
    convert = None
    if "as" in params or "g" in params or "v" in params:
        convert = Convert(params.get("as", ""), params.get("g", ""), params.get("v", ""))
    stream = params.get("stream", "")
    if stream and (stream != "watch" or media_type == YAML):
        return None
    if params.get("sv", "") not in {"", offers.server_version} or not offers.allows(media_type, convert):
        return None
    return MediaType(media_type, convert, params.get("pretty") == "1")


def _choose(accept: str, offers: Offers) -> MediaType | None:
    if not accept:
        return MediaType()
    for clause in clauses(accept):
        for media_type in offers.types:
            if clause.matches(media_type) and (agreed := _options(clause.params, media_type, offers)) is not None:
                return agreed
    return None


_choose_cached: Callable[[str, Offers], MediaType | None] = lru_cache(maxsize=512)(_choose)


def negotiate(accept: str, offers: Offers) -> MediaType:
    """Return the media type for an Accept header.

    Raises:
        StatusError: 406 if the endpoint writes no accepted type.
    """
    agreed = _choose_cached(accept, offers) if len(accept) <= 512 else _choose(accept, offers)
    if agreed is None:
        raise not_acceptable(offers.types)
    return agreed


def negotiate_output(request: web.BaseRequest, offers: Offers) -> MediaType:
    """Return the media type of the response to a request.

    Raises:
        StatusError: 406 if the endpoint writes no accepted type.
    """
    agreed = _agreed(request, offers)
    if agreed.pretty or agreed.type != JSON or not asks_for_indentation(request):
        return agreed
    return replace(agreed, pretty=True)


def negotiate_stream(request: web.BaseRequest, offers: Offers) -> MediaType:
    """Return the media type of a watch, which cannot be YAML.

    Raises:
        StatusError: 406 if no accepted type can be streamed.
    """
    agreed = _agreed(request, offers)
    if agreed.type == YAML:
        raise not_acceptable(_stream_types(request))
    return agreed


def _agreed(request: web.BaseRequest, offers: Offers) -> MediaType:
    accept = request.headers.get("Accept", "")
    # most clients ask for JSON, which every endpoint has
    if accept in _ANY_JSON:
        return _PLAIN_JSON
    if SERVES_CBOR in request:
        offers = _with_cbor(offers)
    return negotiate(accept, offers)


@cache
def _with_cbor(offers: Offers) -> Offers:
    return offers.with_cbor()


def asks_for_indentation(request: web.BaseRequest) -> bool:
    """Return whether to indent the response: for `?pretty`, and for curl, wget and browsers."""
    query = request.rel_url.raw_query_string
    if "pretty" in query:
        chosen = request.query.get("pretty", "")
        if chosen:
            return chosen in _TRUE
    return request.headers.get("User-Agent", "").startswith(_HUMAN_USER_AGENTS)


def not_acceptable(types: Sequence[str]) -> errors.StatusError:
    """Return a 406 that names the available types."""
    return errors.not_acceptable(f"only the following media types are accepted: {', '.join(types)}")


def route_types(request: web.BaseRequest, *, streamed: bool = False) -> tuple[str, ...]:
    """Return the media types that the server reads and writes; with `streamed`, those of watches too."""
    plain = (*MEDIA_TYPES, CBOR) if SERVES_CBOR in request else MEDIA_TYPES
    return (*plain, *_stream_types(request)) if streamed else plain


def _stream_types(request: web.BaseRequest) -> tuple[str, ...]:
    return (*STREAM_MEDIA_TYPES, CBOR_SEQUENCE) if SERVES_CBOR in request else STREAM_MEDIA_TYPES


def check_route(request: web.BaseRequest, types: Sequence[str]) -> None:
    """Check the Accept header as go-restful does before negotiation: it compares types as strings.

    Raises:
        StatusError: 406 if go-restful finds no route.
    """
    accept = request.headers.get("Accept")
    if not accept or accept in {JSON, "*/*"}:
        return
    accepted = {clause.partition(";")[0].strip(" ") for clause in accept.split(",")}
    if "*/*" not in accepted and accepted.isdisjoint(types):
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(types)}"
        raise errors.StatusError(406, "NotAcceptable", message, {})


def unsupported_media_type(types: Sequence[str]) -> errors.StatusError:
    """Return a 415 that names the types of bodies."""
    return errors.unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(types)}"
    )


def input_type(request: web.BaseRequest, *, protobuf: bool) -> str:
    """Return the media type of the body: JSON without a Content-Type.

    Raises:
        StatusError: 415 for an unsupported type.
    """
    content_type = request.headers.get("Content-Type", "")
    if not content_type or content_type == JSON:
        return JSON
    base, semicolon, params = content_type.partition(";")
    media_type = base.strip().lower()
    known = route_types(request)
    if (semicolon and not _PARAMS.fullmatch(params)) or media_type not in known or (media_type == PROTOBUF and not protobuf):
        raise unsupported_media_type(known)
    return media_type
