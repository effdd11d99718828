"""Parser of definition files: YAML or JSON with several documents and lists of definitions, and of Conversions beside them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.base.meta.configuration import json_loader
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.limits import MAX_DEPTH
from apiext.resources.definitions.codec import GVK, CRDCodec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object

CONVERSION_GROUP: Final = "conversions.apiext.dev"
CONVERSION_KIND: Final = "Conversion"
_LISTS: Final = ("List", "CustomResourceDefinitionList")
_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"


class FileProblem(ValueError):  # noqa: N818
    """A file, or a part of it, is not a valid definition. The text says where and why."""


def definitions(data: bytes) -> Iterator[Object | FileProblem]:
    """Yield the definitions of a file in canonical form, and a problem for each invalid part.

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


def parse(data: bytes) -> list[Any]:
    """Return the documents of a file as JSON values. Omit empty ones.

    Raises:
        FileProblem: the file is neither JSON nor YAML.
    """
    if data.lstrip()[:1] != b"{":
        return _yaml(data)
    try:
        return [json_codec.loads(data)]
    except orjson.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: {error.msg.partition(': line ')[0]}"
    # Flow-style YAML starts with a brace, too.
    with suppress(FileProblem):
        return _yaml(data)
    raise FileProblem(problem)


def _yaml(data: bytes) -> list[Any]:
    import yaml

    try:
        documents = [document for document in yaml.load_all(data, Loader=json_loader()) if document is not None]
        if any(is_deeper(document, MAX_DEPTH) for document in documents):
            raise FileProblem(_TOO_DEEP)
        return [json_codec.loads(orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS)) for document in documents]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise FileProblem(f"{where}{error.problem or error}") from None
    except RecursionError:
        raise FileProblem(_TOO_DEEP) from None
    except FileProblem:
        raise
    except yaml.YAMLError as error:
        raise FileProblem(" ".join(str(error).split())) from None
    except (ValueError, TypeError) as error:
        raise FileProblem(f"cannot be converted to JSON: {error}") from None


def _document(document: Any, where: str) -> Iterator[Object | FileProblem]:
    if is_deeper(document, MAX_DEPTH):
        yield FileProblem(where + _TOO_DEEP)
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
