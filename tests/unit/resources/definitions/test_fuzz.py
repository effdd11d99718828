"""Fuzzing of definitions: each body is answered, and accepted definitions round-trip."""

import copy
import json
import random
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupKind
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.definitions import types
from apiext.resources.definitions.codec import CRDCodec
from apiext.resources.definitions.controllers.naming import AcceptedNames
from apiext.resources.definitions.controllers.reconcile import reconcile_status
from apiext.resources.definitions.validation.definition import validate_create, validate_status_update, validate_update
from apiext.resources.definitions.validation.warnings import warnings
from tests.support.builders.crds import parsed
from tests.unit.resources.definitions.recorded import decoded, records

BODIES: Final = [record["body"] for record in records("create")]
VALUES: Final = json.loads(
    '[null, true, false, 0, 1, -1, 1.5, 1e300, "", "x", "\\u00e9\\u200b\\n", [], {}, [null], [{}], {"": {}}, {"a": null}, '
    '"object", "array", "(", ".spec.x", [[]], 9223372036854775807]'
)
KEYS: Final = tuple(
    name
    for struct in (types.SCHEMA, types.SPEC, OBJECT_META, types.CONVERSION, types.CLIENT, types.SUBRESOURCES)
    for name in struct.by_name
)


def _nodes(value: Any, found: list[Any]) -> list[Any]:
    if isinstance(value, dict | list):
        found.append(value)
        for member in value.values() if isinstance(value, dict) else value:
            _nodes(member, found)
    return found


def _mutate(body: dict[str, Any], chance: random.Random) -> None:
    node = chance.choice(_nodes(body, []))
    value = copy.deepcopy(chance.choice([*VALUES, chance.choice(_nodes(body, []))]))
    if isinstance(node, dict):
        node[chance.choice([*node, chance.choice(KEYS)])] = value
    elif node:
        node[chance.randrange(len(node))] = value
    else:
        node.append(value)


@settings(max_examples=300)
@given(st.integers(0, 2**64))
def test_mutated_definitions_are_rejected_or_round_trip(seed: int) -> None:
    """Reject a mutated definition with an error, or validate, encode and decode it without an unexpected exception."""
    chance = random.Random(seed)  # noqa: S311 -- mutations are no secret
    body = copy.deepcopy(chance.choice(BODIES))
    old = decoded(body)
    for _ in range(chance.randint(1, 3)):
        _mutate(body, chance)
    codec = CRDCodec()
    try:
        codec.decode_body(body, True)
    except ValueError:
        return

    problems = validate_create(body)
    others = validate_update(body, old) + validate_update(old, body) + validate_status_update(body, old)
    status = errors.invalid(GroupKind("example.com", "Foo"), "foo", problems + others).status()
    again = codec.decode(codec.encode(body).data)

    assert json_codec.dumps(status)
    assert isinstance(warnings(body), list)
    if not problems:
        assert codec.encode(again).data == codec.encode(body).data
        assert codec.encode(reconcile_status(again, AcceptedNames())).data
        assert parsed(again).versions
