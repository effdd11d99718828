"""Writes of one object, as read from their HTTP requests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs

from apiext.api.endpoints.request import DEADLINE, INFO, USER, WARNINGS, audit_of
from apiext.base.meta.objectmeta.validation import MAX_MANAGER_LENGTH
from apiext.base.meta.request import MASTERS, UserInfo
from apiext.resources.registry.request_context import RequestContext

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.api.audit.request_record import RequestRecord


_PRODUCTS_KEPT: Final = 256
SERVER_USER: Final = UserInfo("system:apiext")
"""The user whose turns in the worker processes the server's own writes take."""
SERVER_MASTER: Final = replace(SERVER_USER, groups=(MASTERS,))
"""The same user for writes that an admission plugin must not refuse for lack of rights."""


@dataclass(slots=True)
class WriteCall:
    """A write of one object: what its execution needs beside the scope. It can be sent to another process."""

    user: UserInfo
    namespace: str
    subresource: str
    name: str
    """The name in the path; empty for a create."""
    query: Any
    """The verb's options."""
    manager: str = ""
    """The name under which the changed fields are recorded."""
    media_type: str = ""
    data: bytes = b""
    """The body."""
    warnings: list[str] = field(default_factory=list)
    """Messages for Warning headers; the execution appends to them."""
    deadline: float = math.inf
    """The end of the request's time as `time.monotonic`."""
    creates: bool = False
    """Whether an update creates an object that does not exist; the user may."""
    record: RequestRecord | None = None
    """What the execution adds to the audit event; None if the write is not recorded."""

    @property
    def context(self) -> RequestContext:
        """Return the request as the registry sees it."""
        annotations = self.record.annotations if self.record is not None else None
        return RequestContext(self.namespace, self.subresource, self.warnings, self.name, self.user, annotations)


def write_call(request: web.BaseRequest, query: Any, media_type: str = "", data: bytes = b"", *, manager: str = "") -> WriteCall:
    """Return the write of a request with these options and this body. Without `manager`, the User-Agent names it."""
    info = request[INFO]
    manager = manager or _product(request.headers.get(hdrs.USER_AGENT, ""))
    warnings, deadline = request[WARNINGS], request.get(DEADLINE, math.inf)
    audit = audit_of(request)
    record = audit.write_record() if audit is not None else None
    user, place = request[USER], (info.namespace, info.subresource, info.name)
    return WriteCall(user, *place, query, manager, media_type, data, warnings, deadline, record=record)


@lru_cache(maxsize=_PRODUCTS_KEPT)
def _product(user_agent: str) -> str:
    """Return the name of a User-Agent's product as the name of a field manager: printable, and not too long."""
    name = user_agent.partition("/")[0].encode(errors="surrogateescape").decode(errors="replace")
    printable = "".join(char for char in name if char.isprintable()).encode()
    return printable[:MAX_MANAGER_LENGTH].decode(errors="ignore")
