"""URLs (apiserver pkg/cel/library/urls.go)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from apiext.base.meta.golang.url import Url, parse_request_uri
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import read_once
from apiext.schema.cel.libraries.library import Library, Overload
from apiext.schema.cel.types import BOOL, STRING, CelType, list_of, map_of
from apiext.schema.cel.values.run_time_values import OpaqueValue
from apiext.schema.strfmt.registry import is_request_uri

_URL: Final = CelType("kubernetes.URL")


@dataclass(frozen=True, slots=True)
class UrlValue(OpaqueValue):
    """A URL."""

    cel_type: ClassVar[CelType] = _URL
    url: Url


def _parse(text: str) -> UrlValue:
    try:
        return UrlValue(parse_request_uri(text))
    except ValueError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def _getter(overload: str, result: CelType, get: Callable[[Url], object]) -> tuple[Overload, ...]:
    return (Overload(id=overload, parameters=(_URL,), result=result, implementation=lambda value: get(value.url), member=True),)


URLS: Final = Library(
    name="kubernetes.urls",
    functions={
        "url": (Overload(id="string_to_url", parameters=(STRING,), result=_URL, implementation=_parse, cost=read_once),),
        "isURL": (Overload(id="is_url_string", parameters=(STRING,), result=BOOL, implementation=is_request_uri),),
        "getScheme": _getter("url_get_scheme", STRING, lambda url: url.scheme),
        "getHost": _getter("url_get_host", STRING, lambda url: url.host),
        "getHostname": _getter("url_get_hostname", STRING, lambda url: url.hostname),
        "getPort": _getter("url_get_port", STRING, lambda url: url.port),
        "getEscapedPath": _getter("url_get_escaped_path", STRING, lambda url: url.path),
        "getQuery": _getter("url_get_query", map_of(STRING, list_of(STRING)), Url.query),
    },
)
