"""/statusz and /flagz: facts about the process and its flags, for people and as objects (apiserver pkg/server/statusz and flagz)."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.endpoints.responsewriters.content_encoding import formatted
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.serializers.negotiation import JSON, YAML, Convert, MediaType, Offers, negotiate
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.time import rfc3339
from apiext.server.routes.version import GIT_VERSION, MAJOR, MINOR, version_info

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aiohttp import web

_NAME: Final = "apiserver"
_GROUP: Final = "config.k8s.io"
_VERSIONS: Final = ("v1beta1", "v1alpha1")
_TEXT: Final = "text/plain"
_DELIMITERS: Final = (":", ": ", "=", " ")
_BEGUN: Final = time.time()
"""When the process began to serve, in seconds since 1970."""
_NO_DEBUGGING: Final = frozenset({"api", "apis", "openid", "openapi", ".well-known"})
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging "
    "purposes only.\n"
)


class ZPage(Protocol):
    """A page about the process."""

    kind: str

    def members(self) -> dict[str, object]:
        """Return the members of its object behind the metadata."""
        ...

    def text(self, delimiter: str) -> str:
        """Return its text behind the warning. `delimiter` follows names: it varies, so that no program reads the text."""
        ...


class Statusz:
    """Versions, age and paths of the process."""

    kind = "Statusz"

    def __init__(self, paths: Callable[[], Sequence[str]]) -> None:
        """Show the first segments of `paths`."""
        self._paths = paths

    def members(self) -> dict[str, object]:
        """Implement ZPage.members."""
        return {
            "startTime": rfc3339(datetime.fromtimestamp(_BEGUN, UTC)),
            "uptimeSeconds": _uptime(),
            "goVersion": version_info()["goVersion"],
            "binaryVersion": GIT_VERSION.removeprefix("v").partition("+")[0],
            "emulationVersion": f"{MAJOR}.{MINOR}",
            "paths": self._folders(),
        }

    def _folders(self) -> list[str]:
        segments = {path.split("/")[1] for path in self._paths()}
        return sorted(f"/{segment}" for segment in segments - _NO_DEBUGGING if segment)

    def text(self, delimiter: str) -> str:
        """Implement ZPage.text."""
        up, found = _uptime(), self.members()
        lines = {
            "Started": datetime.fromtimestamp(_BEGUN, UTC).strftime("%a %b %e %H:%M:%S UTC %Y"),
            "Up": f"{up // 3600} hr {up // 60 % 60:02} min {up % 60:02} sec",
            "Go version": found["goVersion"],
            "Binary version": found["binaryVersion"],
            "Emulation version": found["emulationVersion"],
            "Paths": " ".join(self._folders()),
        }
        return "\n" + "".join(f"{name}{delimiter} {value}\n" for name, value in lines.items())


def _uptime() -> int:
    return max(0, int(time.time() - _BEGUN))


class Flagz:
    """The flags of the process and their values; those that are not set are empty."""

    kind = "Flagz"

    def __init__(self, flags: Mapping[str, str]) -> None:
        self._flags = dict(sorted(flags.items()))

    def members(self) -> dict[str, object]:
        """Implement ZPage.members."""
        return {"flags": self._flags} if self._flags else {}

    def text(self, delimiter: str) -> str:
        """Implement ZPage.text."""
        return "".join(f"{name}{delimiter}{value}\n" for name, value in self._flags.items())


@dataclass(frozen=True, slots=True)
class _ZPageOffers(Offers):
    """Text, and objects of a kind of config.k8s.io."""

    kind: str = ""

    def allows(self, media_type: str, convert: Convert | None) -> bool:
        if media_type == _TEXT:
            return convert is None
        return convert is not None and (convert.kind, convert.group) == (self.kind, _GROUP) and convert.version in _VERSIONS


class ZPageHandler:
    """Answers the path of a page."""

    def __init__(self, page: ZPage) -> None:
        self._page = page
        self._offers = _ZPageOffers(types=(JSON, YAML, _TEXT), kind=page.kind)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the page as text, or as the object that the client asks for.

        Raises:
            StatusError: 406, it has no accepted form.
        """
        accept = request.headers.get("Accept", "").strip()
        media = negotiate(accept, self._offers) if accept else MediaType(_TEXT)
        page, name = self._page, self._page.kind.lower()
        if media.convert is None:
            delimiter = random.choice(_DELIMITERS)  # noqa: S311 -- hides nothing
            return Reply(f"\n{_NAME} {name}\n{_WARNING}{page.text(delimiter)}".encode(), content_type=f"{_TEXT}; charset=utf-8")
        version = media.convert.version
        head = {"kind": page.kind, "apiVersion": f"{_GROUP}/{version}", "metadata": {"name": _NAME}}
        data = formatted(json_codec.dumps({**head, **page.members()}, sort_keys=False), media)
        headers = {}
        if version != _VERSIONS[0]:
            headers["Warning"] = f'299 - "This version of the {name} endpoint is deprecated. Please use a newer version."'
        return Reply(data, content_type=f"{media.type};g={_GROUP};v={version};as={page.kind}", headers=headers)
