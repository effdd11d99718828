"""Bodies in Protobuf."""

import pytest

from apiext.api.endpoints.handlers.body import parse_body
from apiext.api.endpoints.serializers.negotiation import PROTOBUF
from apiext.base.meta.builtin_resources import NAMESPACES
from apiext.base.meta.encoding.json_decoder import BodyDecodeError
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.protobuf.kinds import message_of


@pytest.mark.parametrize(
    "data,text",
    [
        (b"", "empty data"),
        (b"k8s\0", "empty body"),
        (b"abc", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0\x0a\x40v1", "unexpected EOF"),
    ],
)
def test_rejects_bad_protobuf(data: bytes, text: str) -> None:
    """Reject a body in the words of kube-apiserver 1.37.1."""
    with pytest.raises(BodyDecodeError) as raised:
        parse_body(data, PROTOBUF, message_of(struct_of(NAMESPACES.kind)))

    assert str(raised.value) == text


def test_reads_envelope_and_object() -> None:
    """Take the kind from the envelope and the members from the object in it."""
    data = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x05\x0a\x03\x0a\x01n"

    assert parse_body(data, PROTOBUF, message_of(struct_of(NAMESPACES.kind))) == (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}},
        [],
    )
