"""Whatever a client sends for a definition is answered, and what is accepted survives."""

import copy
import json
import random
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.definitions import types
from apiext.definitions.codec import CRDCodec
from apiext.definitions.definition import Definition
from apiext.definitions.naming import Taken
from apiext.definitions.reconcile import reconciled
from apiext.definitions.validation.definition import validate_create, validate_status_update, validate_update
from apiext.definitions.validation.warnings import warnings
from apiext.meta import errors, json_codec
from apiext.meta.gvk import GroupKind
from tests.unit.definitions.recorded import decoded, records

BODIES: Final = [record["body"] for record in records("create")]
VALUES: Final = json.loads(
    '[null, true, false, 0, 1, -1, 1.5, 1e300, "", "x", "\\u00e9\\u200b\\n", [], {}, [null], [{}], {"": {}}, {"a": null}, '
    '"object", "array", "(", ".spec.x", [[]], 9223372036854775807]'
)
KEYS: Final = tuple(
    name
    for struct in (types.SCHEMA, types.SPEC, types.METADATA, types.CONVERSION, types.CLIENT, types.SUBRESOURCES)
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
def test_a_mutated_definition_is_refused_or_survives(seed: int) -> None:
    """No body makes decoding, validation or anything after them fail in a way of their own."""
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
    told = errors.invalid(GroupKind("example.com", "Foo"), "foo", problems + others).status()
    again = codec.decode(codec.encode(body))

    assert json_codec.dumps(told)
    assert isinstance(warnings(body), list)
    if not problems:
        assert codec.encode(again) == codec.encode(body)
        assert codec.encode(reconciled(again, Taken()))
        assert Definition.from_object(again, revision=1).versions
