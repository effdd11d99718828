"""The places of duplicate keys in CBOR."""

from typing import Any

import cbor2
import pytest

from apiext.meta.encoding.cbor_duplicates import place_of_duplicate


@pytest.mark.parametrize(
    "data, place",
    [
        ("a2616101616102", 1),
        ("a3616101616202616103", 2),
        ("a3616101616202616203", 2),
        ("a2616181a1616101616102", 1),
        ("a1617882a1616101a2616201616202", 1),
        ("bf6161016162026161ff", 2),
        ("a261610178016102", 1),
        ("a27f6161ff017f6161ff02", 1),
        ("d9d9f7a3c0616101616202616203", 2),
        ("a361610161620341610261", 0),
        ("a1616101", 0),
        ("80", 0),
    ],
)
def test_finds_the_first_duplicate(data: str, place: int) -> None:
    """Count the pairs of the map, whatever form its keys and the values before them have."""
    assert place_of_duplicate(bytes.fromhex(data)) == place


def test_reads_all_items() -> None:
    """Skip numbers, texts, lists, maps and tags of all sizes before the duplicate."""
    values: list[Any] = [
        0,
        23,
        24,
        256,
        2**16,
        2**40,
        -1,
        -(2**33),
        1.5,
        0.1,
        True,
        None,
        "x" * 300,
        b"y" * 70_000,
        [],
        {},
        [[1], {"a": [2]}],
    ]
    head = cbor2.dumps({f"k{number}": value for number, value in enumerate(values)})
    pairs = head[1:] if len(values) < 24 else head[2:]

    assert place_of_duplicate(bytes([0xA0 | len(values) + 1]) + pairs + cbor2.dumps("k3") + b"\x01") == len(values)
