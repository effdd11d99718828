"""The kinds of reviews that webhooks answer with, as the reference's client decodes them (apimachinery pkg/runtime/serializer)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.configuration import json_loader
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_syntax import syntax_error, with_replacements
from apiext.base.meta.golang.type_model import DecodeError, Decoder, describe
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.limits import MAX_HOOK_STATUS_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.golang.struct_type import Struct

_SCHEME: Final = "pkg/runtime/scheme.go:111"
_HEAD: Final = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_UNVERSIONED: Final = ("", "Status")


class HookReviewError(ValueError):
    """A webhook's answer is not the expected review. The text is the reference's."""


@dataclass(frozen=True, slots=True)
class ReviewType:
    """A kind of reviews with its versions."""

    group: str
    kind: str
    structs: Mapping[str, Struct]
    """By version."""
    others: frozenset[str] = frozenset()
    """Further kinds of the group that the reference's client can decode."""

    def check(self, version: str, document: Any) -> Object:
        """Return the review of a version in the value of an answer. A missing apiVersion or kind counts as the right one.

        Raises:
            HookReviewError: it is none.
        """
        review = _object(document)
        try:
            group, found = parse_group_version(review.get("apiVersion") or "")
        except ValueError as error:
            raise HookReviewError(str(error)) from error
        kind = review.get("kind") or self.kind
        if not group and not found:
            group, found = self.group, version
        is_other = (group, kind) == _UNVERSIONED or (group == self.group and kind in self.others)
        if is_other and found in self.structs:
            raise HookReviewError(f"converting ({found}.{kind}) to ({version}.{self.kind}): unknown conversion")
        if (group, kind) != (self.group, self.kind) or found not in self.structs:
            place = f"{group}/{found}".lstrip("/")
            raise HookReviewError(f'no kind "{kind}" is registered for version "{place}" in scheme "{_SCHEME}"')
        try:
            Decoder(report=False).run(self.structs[found], review)
        except DecodeError as error:
            raise HookReviewError(str(error)) from error
        if found != version:
            raise HookReviewError(f"converting ({found}.{self.kind}) to ({version}.{self.kind}): unknown conversion")
        return review


def _object(document: Any) -> Object:
    """Return a document that is an object with a readable apiVersion and kind."""
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise HookReviewError(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {describe(document)} into Go value of type {_HEAD}"
        )
    for member in ("apiVersion", "kind"):
        if not isinstance(document.get(member) or "", str):
            found = describe(document[member])
            problem = f"json: cannot unmarshal {found} into Go struct field .{member} of type string"
            raise HookReviewError(f"couldn't get version/kind; json parse error: {problem}")
    return document


def unparsed(data: bytes) -> Any:
    """Return the value of an answer that is not valid JSON.

    As in the reference, its texts need not be UTF-8, or it may be YAML, in which most texts are one string.

    Raises:
        HookReviewError: it is neither.
    """
    if data.lstrip().startswith(b"{") or len(data) > MAX_HOOK_STATUS_BYTES:
        problem = syntax_error(data) if len(data) <= MAX_HOOK_STATUS_BYTES else "invalid JSON"
        if not problem:
            return _tolerant(data)
        raise HookReviewError(f"couldn't get version/kind; json parse error: {problem}")
    if b"&" in data:
        # aliases can make a document of any size
        return ""
    import yaml

    try:
        return yaml.load(data, Loader=json_loader())  # noqa: S506 -- a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return ""


def _tolerant(data: bytes) -> Any:
    try:
        return json_codec.loads(with_replacements(data))
    except ValueError as error:
        raise HookReviewError("json: cannot unmarshal a number beyond float64") from error


def group_version_kind(review: Object) -> str:
    """Return the group, version and kind of a review as Go prints them."""
    api_version = review.get("apiVersion") or ""
    return f"{api_version if '/' in api_version else '/' + api_version}, Kind={review.get('kind') or ''}"
