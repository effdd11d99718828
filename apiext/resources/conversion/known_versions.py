"""Which conversions a definition allows (apiextensions-apiserver pkg/apiserver/conversion/converter.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.golang import formatting
from apiext.base.meta.gvk import parse_group_version

if TYPE_CHECKING:
    from collections.abc import Container

    from apiext.base.meta.gvk import GroupVersionKind


def check_versions(source: GroupVersionKind, target: str, known: Container[str]) -> None:
    """Check the conversion of an object of kind `source` to the apiVersion `target`; `known` are those of the definition.

    Raises:
        ValueError: the groups differ, or one of the versions is unknown; the message is the reference's.
    """
    wanted = parse_group_version(target)
    if wanted.group != source.group:
        text = f"{source.group}/{source.version}, Kind={source.kind}"
        raise ValueError(f"{text} is unstructured and is not suitable for converting to {formatting.quote(str(wanted))}")
    if target not in known:
        raise ValueError(f"request to convert CR to an invalid group/version: {target}")
    if source.api_version not in known:
        raise ValueError(f"request to convert CR from an invalid group/version: {source.api_version}")
