"""Bodies in protobuf that cannot be read are refused in the reference's words."""

from __future__ import annotations

import pytest

from apiext.endpoints.handlers.body import parse_body
from apiext.endpoints.serializers.json_decoder import DecodeError
from apiext.endpoints.serializers.negotiation import PROTOBUF
from apiext.registry.core_types import NAMESPACE_WIRE


@pytest.mark.parametrize(
    "data,text",
    [
        (b"", "empty data"),
        (b"k8s\0", "empty body"),
        (b"abc", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0\x0a\x40v1", "unexpected EOF"),
    ],
)
async def test_refused(data: bytes, text: str) -> None:
    """What is wrong is told as kube-apiserver 1.37.1 tells it."""
    with pytest.raises(DecodeError) as raised:
        await parse_body(data, PROTOBUF, NAMESPACE_WIRE)

    assert str(raised.value) == text


async def test_read() -> None:
    """The kind comes from the envelope, the members from the object in it."""
    data = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x05\x0a\x03\x0a\x01n"

    assert await parse_body(data, PROTOBUF, NAMESPACE_WIRE) == (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}},
        [],
    )
