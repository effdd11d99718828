"""Searches stored objects for invalid and unreadable ones while somebody looks, in worker processes and at a limited share of the time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.scopes.write_call import SERVER_USER
from apiext.api.serving.stored_documents import StoredDocuments, StoredQuestion
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.server.version_map.entries import ProblemReport
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.catalog import Catalog

_LOG: Final = get_logger(__name__)
MAX_CHECKED: Final = 20_000
"""Objects of a definition that are checked: 20 s of a worker process for ordinary schemas."""
_MAX_NAMED: Final = 100
"""Objects of a definition that are named."""
_PAGE: Final = "500"
_SHARE: Final = 3.0
"""A page is followed by a pause of so many times its duration."""
_PAUSE_SECONDS: Final = 5.0
"""Least seconds between two searches in a resource."""
_SEARCH_SHARE: Final = 10.0
"""A search is followed by a pause of so many times its duration."""


async def invalid_pages(documents: StoredDocuments, name: str) -> AsyncIterator[Object]:
    """Yield the pages of the document `/stored/invalid` about a definition.

    Raises:
        StatusError: the objects cannot be read or checked.
    """
    after = ""
    while True:
        page = await documents.get(["invalid", name], StoredQuestion({"limit": _PAGE, "continue": after}, SERVER_USER.name))
        yield page
        if not (after := page["continue"]):
            return


async def reports(pages: AsyncIterator[Object], *, most: int | None = None) -> AsyncIterator[ProblemReport]:
    """Yield the report about the objects of all pages so far. End after `most` checked objects."""
    report = ProblemReport()
    async for page in pages:
        report = _with(report, page["items"], page["checked"])
        if not page["continue"]:
            report = replace(report, is_complete=True)
        yield report
        if most is not None and report.checked >= most:
            return


def _with(report: ProblemReport, found: list[Object], checked: int) -> ProblemReport:
    invalid = sum(problem["state"] == "invalid" for problem in found)
    return replace(
        report,
        checked=report.checked + checked,
        invalid=report.invalid + invalid,
        unreadable=report.unreadable + len(found) - invalid,
        items=(*report.items, *found[: _MAX_NAMED - len(report.items)]),
    )


class ProblemScans:
    """The reports about all definitions that own objects."""

    def __init__(self, catalog: Catalog, documents: StoredDocuments, changed: Callable[[], None]) -> None:
        """Create it. `changed` is called after each report."""
        self._catalog = catalog
        self._documents = documents
        self._changed = changed
        self._reports: dict[str, ProblemReport] = {}
        self._next: dict[str, float] = {}
        """When a definition's objects may be checked again."""
        self._queue = WorkQueue(
            self._scan, log=_LOG, event="stored objects not checked, retrying", key_field="definition", retryable=FAILURES
        )
        self.run = self._queue.run

    def of(self, name: str) -> ProblemReport | None:
        """Return the latest report about a definition, None before the first."""
        return self._reports.get(name)

    def note(self, name: str) -> None:
        """Check the objects of a definition that is new or has changed, or whose objects have changed."""
        self._queue.add(name)

    def forget(self, name: str) -> None:
        """Drop the report about a deleted definition."""
        self._reports.pop(name, None)
        self._next.pop(name, None)

    async def _scan(self, name: str) -> float | None:
        """Check the objects of a definition; implements workqueue.Sync."""
        definition, loop = self._catalog.get(name), asyncio.get_running_loop()
        if definition is None or not definition.owns_objects:
            self.forget(name)
            return None
        begun = loop.time()
        if (early := self._next.get(name, 0.0) - begun) > 0:
            return early
        busy = 0.0
        report, is_first = ProblemReport(), name not in self._reports
        try:
            page_begun = begun
            async for report in reports(invalid_pages(self._documents, name), most=MAX_CHECKED):
                if is_first:
                    self._put(name, report)
                took = loop.time() - page_begun
                busy += took
                if not report.is_complete:
                    await asyncio.sleep(_SHARE * took)
                page_begun = loop.time()
        except FAILURES as error:
            report = replace(report, error=str(error))
        self._next[name] = loop.time() + max(_PAUSE_SECONDS, _SEARCH_SHARE * busy)
        self._put(name, report)
        return None

    def _put(self, name: str, report: ProblemReport) -> None:
        if self._reports.get(name) != report:
            self._reports[name] = report
            self._changed()
