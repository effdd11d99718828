"""Statuses in Protobuf, compared with the bytes of kube-apiserver 1.37.1."""

from typing import Final

import pytest

from apiext.api.endpoints.serializers.protobuf_status import status_bytes
from apiext.base.meta import errors
from apiext.base.meta.gvk import GroupResource

_HEAD: Final = b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12"
_NOT_ACCEPTABLE: Final = (
    b"\x99\x01\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1atonly the following media types are accepted: application/json, "
    b'application/yaml, application/vnd.kubernetes.protobuf"\rNotAcceptable0\x96\x03\x1a\x00"\x00'
)
_NOT_FOUND: Final = (
    b'b\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a"widgets.example.com "zz" not found"\x08NotFound*\x1e\n\x02zz\x12\x0bexample.com'
    b'\x1a\x07widgets(\x002\x000\x94\x03\x1a\x00"\x00'
)
_TOO_LARGE_VERSION: Final = (
    b"\x9f\x01\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a;Timeout: Too large resource version: 99999999, current: 241"
    b'"\x07Timeout*C\n\x00\x12\x00\x1a\x00"7\n\x17ResourceVersionTooLarge\x12\x1aToo large resource version\x1a\x00(\x012\x000\xf8\x03'
    b'\x1a\x00"\x00'
)
_NO_PATH: Final = (
    b'\\\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a0the server could not find the requested resource"\x08NotFound'
    b'*\n\n\x00\x12\x00\x1a\x00(\x002\x000\x94\x03\x1a\x00"\x00'
)
_TYPES: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    "error,expected",
    [
        (errors.not_acceptable(f"only the following media types are accepted: {_TYPES}"), _NOT_ACCEPTABLE),
        (errors.not_found(GroupResource("example.com", "widgets"), "zz"), _NOT_FOUND),
        (errors.too_large_resource_version(99999999, 241), _TOO_LARGE_VERSION),
        (errors.path_not_found(), _NO_PATH),
    ],
)
def test_writes_the_references_bytes(error: errors.StatusError, expected: bytes) -> None:
    """Write the reference's bytes without details, with those of an object, with causes and a retry time, and with empty ones."""
    assert status_bytes(error.status()) == _HEAD + expected
