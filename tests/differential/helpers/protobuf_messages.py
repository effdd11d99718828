"""Compares Protobuf messages without their definitions; texts in them may be the same value in other YAML."""

from itertools import zip_longest

import yaml

from apiext.base.meta.encoding import yaml_codec
from apiext.base.meta.encoding.protobuf_wire import read_fields


def equivalent(left: bytes, right: bytes) -> bool:
    """Return whether two messages have equal fields in the same order, or are texts that hold the same YAML value."""
    return left == right or _same_fields(left, right) or _same_yaml(left, right)


def _same_fields(left: bytes, right: bytes) -> bool:
    try:
        fields = list(zip_longest(read_fields(left), read_fields(right), fillvalue=(0, b"")))
    except ValueError:
        return False
    return all(
        number == other and (equivalent(one, another) if isinstance(one, bytes) and isinstance(another, bytes) else one == another)
        for (number, one), (other, another) in fields
    )


def _same_yaml(left: bytes, right: bytes) -> bool:
    try:
        return yaml_codec.parse(left) == yaml_codec.parse(right) and bool(yaml.safe_load(left) == yaml.safe_load(right))
    except (ValueError, yaml.YAMLError):
        return False


def entries(data: bytes, *numbers: int) -> dict[bytes, bytes]:
    """Return the entries of a map inside a message by their names; `numbers` are the fields that lead to the map and to its entries."""
    found = [data]
    for number in numbers:
        found = [content for message in found for key, content in read_fields(message) if key == number and isinstance(content, bytes)]
    named = [(dict(read_fields(entry)).get(1), entry) for entry in found]
    return {name: entry for name, entry in named if isinstance(name, bytes)}
