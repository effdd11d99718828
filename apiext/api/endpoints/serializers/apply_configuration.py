"""Bodies of server-side apply: YAML, and CBOR. JSON, a subset of YAML, has a faster parser."""

from __future__ import annotations

import re
from typing import Any, Final

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_decoder
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.encoding.json_decoder import BodyDecodeError, DepthError
from apiext.base.meta.golang import type_model
from apiext.base.meta.limits import MAX_INLINE_YAML_BYTES
from apiext.base.scheduling.inline_work import current_work

FROM_YAML: Final = "error converting YAML to JSON: "
# YAML refuses these characters and surrogates, or reads them as line breaks. A tab's meaning depends on its place.
_NOT_AS_IN_YAML: Final = re.compile("[\t\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\\\\u[dD][89a-fA-F]")

_FLOAT: Final = re.compile(rb"[:,\[\s-][0-9]+[.eE]")
"""The start of every float in JSON, with the byte before it."""


def parse_yaml(data: bytes) -> tuple[Any, list[str]]:
    """Return the value of a YAML body, and messages about its duplicate keys.

    Raises:
        BodyDecodeError: it has no value.
        HeavyWorkError: it takes too long for the event loop.
    """
    check_size = current_work().check_size
    check_size(len(data), MAX_INLINE_YAML_BYTES)
    from apiext.base.meta.encoding import yaml_codec

    return yaml_codec.parse(data, lambda aliased: check_size(len(data) + aliased, MAX_INLINE_YAML_BYTES))


def parse_configuration(data: bytes) -> tuple[Object, list[str]]:
    """Return an applied configuration, and messages about its duplicate keys.

    Raises:
        StatusError: 400 if it is not YAML, or not an object.
    """
    known = _as_json(data)
    if known is not None:
        return known, []
    try:
        parsed, duplicates = parse_yaml(data)
    except DepthError as error:
        raise errors.bad_request(f"the patch is {error}") from error
    except BodyDecodeError as error:
        # The reference rejects text that begins like JSON at a later step.
        is_json = data.lstrip().startswith(b"{")
        raise errors.bad_request(f"error decoding patch: {FROM_YAML}{error}" if is_json else f"error encoding patch: {error}") from error
    if parsed is not None and type(parsed) is not dict:
        found = f"cannot unmarshal {type_model.describe(parsed)} into Go value of type map[string]interface {{}}"
        raise errors.bad_request(f"error decoding patch: error unmarshaling JSON: while decoding JSON: json: {found}")
    return parsed or {}, duplicates


def parse_cbor_configuration(data: bytes) -> Object:
    """Return an applied configuration in CBOR, which cannot have duplicate keys.

    Raises:
        StatusError: 400 if it is no CBOR, or no object.
    """
    from apiext.base.meta.encoding import cbor_decoder

    try:
        return cbor_decoder.parse(data)
    except DepthError as error:
        raise errors.bad_request(f"the patch is {error}") from error
    except BodyDecodeError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from error


def _as_json(data: bytes) -> Object | None:
    """Return the value of JSON that YAML reads equally; None for other text and for duplicate keys."""
    try:
        if not data.startswith(b"{") or _may_differ_in_yaml(data):
            return None
        parsed: Object
        parsed, is_unique = json_decoder.parse_unique(data)
    except ValueError:
        return None
    if not is_unique:
        return None
    # the conversion of YAML to JSON turns whole floats into integers
    return json_decoder.normalized(parsed) if _FLOAT.search(data) else parsed


def _may_differ_in_yaml(data: bytes) -> bool:
    """Return whether JSON has characters that YAML reads differently. Raises UnicodeDecodeError, a ValueError."""
    text = data.decode()
    # most bodies are one line without escapes: this test is much faster than the pattern
    if text.isascii() and text.isprintable() and "\\" not in text:
        return False
    return _NOT_AS_IN_YAML.search(text) is not None
