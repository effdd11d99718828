"""Which discovery document stands at which path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial

from apiext.discovery import documents
from apiext.discovery.resources import Group
from apiext.meta.json_codec import Object


@dataclass(frozen=True, slots=True)
class Page:
    """A document before it is rendered."""

    make: Callable[[str], Object]
    """Makes it for a server at that host and port."""
    depends_on_address: bool = False
    only_get: bool = False
    """Whether the reference refuses other methods here, as it does for documents of what is built in."""


def pages(groups: Iterable[Group], own_groups: Collection[str]) -> dict[tuple[str, ...], Page]:
    """The document at each path, the path taken apart at its slashes."""
    groups = tuple(groups)
    table: dict[tuple[str, ...], Page] = {("apis",): Page(partial(_group_list, groups))}
    for group in groups:
        if group.name:
            table["apis", group.name] = Page(partial(_group, group))
        else:
            table["api",] = Page(partial(documents.api_versions, group), depends_on_address=True, only_get=True)
        for served in group.versions:
            path = ("apis", group.name, served.version) if group.name else ("api", served.version)
            document = documents.api_resource_list(group.name, served)
            table[path] = Page(partial(_ready, document), only_get=group.name in own_groups)
    return table


def _group_list(groups: Iterable[Group], _address: str) -> Object:
    return documents.api_group_list(groups)


def _group(group: Group, _address: str) -> Object:
    return documents.api_group(group)


def _ready(document: Object, _address: str) -> Object:
    return document
