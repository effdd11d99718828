"""Patches in the answers of webhooks."""

import pytest

from apiext.api.admission.webhooks.patching import UndecodablePatchError, parse_patch


@pytest.mark.parametrize(
    "patch, value",
    [
        (b'[{"value":"a"}]', "a"),
        (b'[{"value":"a\xff"}]', "a\ufffd"),
        (b'[{"value":"\\ud800 \\ud83d\\ude00"}]', "\ufffd \U0001f600"),
    ],
)
def test_texts(patch: bytes, value: str) -> None:
    """Read texts that are not UTF-8 as Go does."""
    assert parse_patch(patch) == [{"value": value}]


@pytest.mark.parametrize(
    "patch, problem", [(b"[", "unexpected end of JSON input"), (b"[1e400]", "json: cannot unmarshal a number beyond float64")]
)
def test_undecodable_patches(patch: bytes, problem: str) -> None:
    """Say why a patch cannot be read."""
    with pytest.raises(UndecodablePatchError) as caught:
        parse_patch(patch)

    assert str(caught.value) == f"received undecodable patch in webhook response: {problem}"
