"""Bodies in CBOR."""

from __future__ import annotations

from apiext.base.meta.encoding import cbor_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.encoding.json_decoder import BodyDecodeError, DepthError


def parse(data: bytes) -> Object:
    """Return a body as a JSON object.

    Raises:
        BodyDecodeError: it is no CBOR, no object, has a key twice, or is nested deeper than MAX_DEPTH (DepthError).
    """
    try:
        value = cbor_codec.loads(data)
    except cbor_codec.TooDeepError as error:
        raise DepthError from error
    except ValueError as error:
        raise BodyDecodeError(str(error)) from error
    if value is not None and not isinstance(value, dict):
        raise BodyDecodeError("cbor: the document is not a map")
    return value or {}
