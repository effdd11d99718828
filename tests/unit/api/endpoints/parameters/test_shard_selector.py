"""The shardSelector of a request. Its texts of errors are those of the reference, from the differential tests."""

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.parameters.shard_expression import ShardSelectorError, parse_shard_selector
from apiext.api.endpoints.parameters.shard_selector import shard_selector
from apiext.api.endpoints.request import SERVES_SHARDS
from apiext.base.meta.errors import StatusError
from apiext.base.meta.objectmeta.sharding import NAMESPACE, UID, ShardSelector

LOW = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
HIGH = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
OF_NAMESPACE = "shardRange(object.metadata.namespace, '0x0000000000000001', '0x000000000000000f')"


@pytest.mark.parametrize(
    "expression, expected",
    [
        (LOW, ShardSelector(UID, ((0, 2**63),))),
        (f" ({LOW})||\n{HIGH} // both", ShardSelector(UID, ((0, 2**63), (2**63, 2**64)))),
        (f"{HIGH} || ({LOW} || {HIGH})", ShardSelector(UID, ((2**63, 2**64), (0, 2**63), (2**63, 2**64)))),
        (f"object.{OF_NAMESPACE}".replace("'", '"'), ShardSelector(NAMESPACE, ((1, 15),))),
    ],
)
def test_parses(expression: str, expected: ShardSelector) -> None:
    """Parse calls of shardRange and `||`, as CEL spells them."""
    assert parse_shard_selector(expression) == expected
    assert parse_shard_selector(expected.text) == expected


@pytest.mark.parametrize(
    "expression, fault",
    [
        (" ", "empty shard selector is not allowed; omit the parameter for unfiltered lists"),
        ("a &", "CEL parse error: Syntax error: unexpected character '&'"),
        ("x", "unexpected expression kind 3; expected shardRange() call or || operator"),
        (f"{LOW} && {HIGH}", 'unsupported function "_&&_"; only shardRange() and || are allowed'),
        (f"{LOW} || {OF_NAMESPACE}", 'all shard ranges must use the same field, got "object.metadata.uid" and "object.metadata.namespace"'),
        ("shardRange(1)", "shardRange() requires exactly 3 arguments, got 1"),
        (
            LOW.replace("object", "f()"),
            "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 1",
        ),
        (
            LOW.replace("uid", "name"),
            'unsupported field path "object.metadata.name"; supported: object.metadata.uid, object.metadata.namespace',
        ),
        (LOW.replace("'0x0000000000000000'", "1u"), "hexStart must be a string literal, got uint64"),
        (
            LOW.replace("0x0000000000000000", "0x0"),
            'hexStart must be a 0x-prefixed 16-digit hex value, got "0x0" (did you mean "0x0000000000000000"?)',
        ),
        (
            LOW.replace("0x8000000000000000", "0x0000000000000000"),
            "shard range start 0x0000000000000000 must be less than end 0x0000000000000000",
        ),
    ],
)
def test_refuses(expression: str, fault: str) -> None:
    """Say what is wrong with an expression."""
    with pytest.raises(ShardSelectorError) as refused:
        parse_shard_selector(expression)

    assert str(refused.value) == fault


async def test_reads_the_parameter() -> None:
    """Return the selector of a request, of any length; none without the parameter, and none while the gate is disabled."""
    request = make_mocked_request("GET", "/")
    assert await shard_selector(request, {"shardSelector": [LOW]}) is None
    request[SERVES_SHARDS] = True

    assert await shard_selector(request, {}) is None
    assert await shard_selector(request, {"shardSelector": [""]}) is None
    assert await shard_selector(request, {"shardSelector": [LOW, "x"]}) == ShardSelector(UID, ((0, 2**63),))
    assert await shard_selector(request, {"shardSelector": [" || ".join([LOW] * 100)]}) == ShardSelector(UID, ((0, 2**63),) * 100)


@pytest.mark.parametrize("expression", ["x", "x" * 5000])
async def test_answers_a_malformed_selector(expression: str) -> None:
    """Raise a Status without a reason, as for errors that the reference does not expect."""
    request = make_mocked_request("GET", "/")
    request[SERVES_SHARDS] = True
    with pytest.raises(StatusError) as refused:
        await shard_selector(request, {"shardSelector": [expression]})

    assert (refused.value.code, refused.value.reason) == (500, "")
    assert str(refused.value.message) == "invalid shard selector: unexpected expression kind 3; expected shardRange() call or || operator"
