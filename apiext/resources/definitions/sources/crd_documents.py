"""Parser of definition files: YAML or JSON with several documents and lists of definitions, and of Conversions beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding.documents import TOO_DEEP, FileProblem, parse
from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.limits import MAX_DEPTH
from apiext.resources.definitions.codec import GVK, CRDCodec
from apiext.resources.definitions.composite_definition import composite_crds, is_composite_definition, without_owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object

CONVERSION_GROUP: Final = "conversions.apiext.dev"
CONVERSION_KIND: Final = "Conversion"
_LISTS: Final = ("List", "CustomResourceDefinitionList")


def definitions(data: bytes) -> Iterator[Object | FileProblem]:
    """Yield the definitions of a file in canonical form, those that Crossplane makes of its XRDs too, and a problem for each invalid part.

    Yield Conversions as they are, and skip documents of other kinds.
    """
    try:
        documents = parse(data)
    except FileProblem as problem:
        yield problem
        return
    for index, document in enumerate(documents):
        where = f"document {index + 1}: " if len(documents) > 1 else ""
        yield from _document(document, where)


def _document(document: Any, where: str) -> Iterator[Object | FileProblem]:
    if is_deeper(document, MAX_DEPTH):
        yield FileProblem(where + TOO_DEEP)
        return
    if not isinstance(document, dict):
        yield FileProblem(f"{where}is not an object")
        return
    kind = document.get("kind")
    if kind in _LISTS:
        items = document.get("items")
        if not isinstance(items, list):
            yield FileProblem(f"{where}{kind} has no items")
            return
        for index, item in enumerate(items):
            yield from _document(item, f"{where}items[{index}]: ")
    elif kind == GVK.kind:
        yield _definition(document, where)
    elif is_composite_definition(document):
        try:
            yield from (_definition(without_owner(crd), where) for crd in composite_crds(document))
        except ValueError as error:
            yield FileProblem(f"{where}{error}")
    elif is_conversion(document):
        yield _named(document, where)
    elif not kind or not document.get("apiVersion"):
        yield FileProblem(f"{where}has no {'apiVersion' if kind else 'kind'}")


def is_conversion(document: Object) -> bool:
    """Return whether a document is a Conversion."""
    return document.get("kind") == CONVERSION_KIND and str(document.get("apiVersion")).startswith(f"{CONVERSION_GROUP}/")


def _named(document: Object, where: str) -> Object | FileProblem:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return document if name and isinstance(name, str) else FileProblem(f"{where}metadata.name is missing")


def _definition(document: Object, where: str) -> Object | FileProblem:
    if document.get("apiVersion") != GVK.api_version:
        return FileProblem(f"{where}apiVersion is {document.get('apiVersion')!r}, expected {GVK.api_version!r}")
    try:
        unknown = CRDCodec().decode_body(document, True)  # noqa: FBT003
    except ValueError as error:
        return FileProblem(f"{where}{error}")
    if unknown:
        return FileProblem(f"{where}{', '.join(unknown)}")
    if not document["metadata"].get("name"):
        return FileProblem(f"{where}metadata.name is missing")
    return document
