"""Tests of the entries of metadata.managedFields."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.objectmeta import canonical
from apiext.resources.managedfields import managers
from apiext.resources.managedfields.managers import APPLY, UPDATE, Manager

EARLY, LATE = "2001-02-03T04:05:06Z", "2011-12-13T14:15:16Z"


def entry(**changes: Any) -> dict[str, Any]:
    """Return a valid entry with changes; None removes a member."""
    valid = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}}
    return {name: value for name, value in (valid | changes).items() if value is not None}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"operation": "Other"}, "operation must be `Apply` or `Update`"),
        ({"operation": None}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": None}, "apiVersion must not be empty"),
        ({"fieldsType": None}, "missing fieldsType in managed fields entry 1"),
        ({"fieldsType": "FieldsV2"}, 'invalid fieldsType "FieldsV2" in managed fields entry 1'),
        ({"fieldsV1": {"fa": {}}}, "missing colon: fa"),
        ({"fieldsV1": {"a": {}}}, "key must be 2 characters long:"),
        ({"fieldsV1": {"f:a": []}}, "a field set must be an object"),
    ],
)
def test_invalid_entries(changes: dict[str, Any], message: str) -> None:
    """Reject an entry that misses something, and say which."""
    with pytest.raises(ValueError, match=f"^{message}$"):
        managers.decode([entry(), entry(**changes)])


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [entry()],
        [entry(fieldsV1={})],
        [entry(manager=None, operation="Update", time=EARLY)],
        [
            entry(operation="Update", time=EARLY, fieldsV1={"v:3": {"f:a": {}}, "v:3.1415": {"f:pi": {}}, "v:false": {"f:no": {}}}),
            entry(operation="Update", apiVersion="v1beta1", time=LATE, fieldsV1={"i:5": {"f:i": {}}}),
        ],
        [entry(fieldsV1={"f:spec": {"f:list": {'k:{"name":"c","port":1}': {".": {}, "f:name": {}}}}})],
        [entry(operation="Update", subresource="scale", time=EARLY), entry(operation="Update", subresource="status", time=EARLY)],
    ],
)
def test_round_trip(entries: list[dict[str, Any]]) -> None:
    """Expect the entries that were read."""
    assert managers.encode(*managers.decode(entries)) == entries


_SETS: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, {}]),
    lambda below: st.dictionaries(st.sampled_from([".", "f:a", "f:b", "v:1", 'v:{"a":1.5}', "i:0", 'k:{"a":1}', "x:y"]), below, max_size=3),
    max_leaves=6,
)
_ENTRIES = st.fixed_dictionaries(
    {"operation": st.sampled_from([APPLY, UPDATE]), "apiVersion": st.sampled_from(["v1", "v2"]), "fieldsType": st.just("FieldsV1")},
    optional={
        "manager": st.sampled_from(["a", "b"]),
        "time": st.sampled_from([EARLY, LATE]),
        "fieldsV1": _SETS,
        "subresource": st.sampled_from(["", "status"]),
    },
)


@given(st.lists(_ENTRIES, min_size=1, max_size=4))
def test_makes_canonical_entries(entries: list[dict[str, Any]]) -> None:
    """Make entries in their stored form, with sets, which objectmeta.take_entries relies on."""
    metadata = {"managedFields": managers.encode(*managers.decode(entries))}

    assert canonical.is_canonical(metadata)
    assert canonical.has_field_sets(metadata)


def test_order() -> None:
    """Sort by operation, time, name, version and subresource; no time comes first."""
    entries = [
        entry(manager="z"),
        entry(manager="a", time=EARLY),
        entry(manager="b", time=EARLY),
        entry(manager="b", operation="Update", apiVersion="v1", time=EARLY),
        entry(manager="b", operation="Update", apiVersion="v1", subresource="status", time=EARLY),
        entry(manager="b", operation="Update", apiVersion="v2", time=EARLY),
        entry(manager="a", operation="Update", time=LATE),
    ]

    assert managers.encode(*managers.decode(reversed(entries))) == entries


def test_members_have_the_order_of_the_reference() -> None:
    """Expect the order of the Go struct."""
    (found,) = managers.encode(*managers.decode([entry(subresource="status", time=EARLY)]))

    assert list(found) == ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"]


def test_entries_of_one_manager() -> None:
    """Keep the last entry of an applier, whatever its version, and its time; updates of each version are apart."""
    decoded, times = managers.decode(
        [
            entry(time=EARLY),
            entry(apiVersion="v2", fieldsV1={"f:b": {}}),
            entry(operation="Update"),
            entry(operation="Update", apiVersion="v2"),
        ]
    )

    assert [(manager.operation, manager.version) for manager in decoded] == [(APPLY, ""), (UPDATE, "v1"), (UPDATE, "v2")]
    assert decoded[Manager("m", APPLY)] == ({"f:b": {}}, "v2", True)
    assert times == {}


@pytest.mark.parametrize(
    "manager, expected",
    [
        (Manager.of("foo", UPDATE, "v1"), '{"manager":"foo","operation":"Update","apiVersion":"v1"}'),
        (Manager.of("foo", APPLY, "v1"), '{"manager":"foo","operation":"Apply"}'),
        (
            Manager.of("<a>", UPDATE, "g/v1", "status"),
            '{"manager":"\\u003ca\\u003e","operation":"Update","apiVersion":"g/v1","subresource":"status"}',
        ),
        (Manager.of("", UPDATE, "v1"), '{"operation":"Update","apiVersion":"v1"}'),
    ],
)
def test_identifier(manager: Manager, expected: str) -> None:
    """Expect the reference's text of a manager."""
    assert manager.identifier == expected


def test_equal_sets_are_shared() -> None:
    """Parse equal sets once; sets that are too long for the cache are parsed each time."""
    long: dict[str, Any] = {f"f:{number:04}": {} for number in range(1000)}
    for fields, shared in (({"f:a": {"f:b": {}}}, True), (long, False)):
        first, _ = managers.decode([entry(fieldsV1=fields)])
        second, _ = managers.decode([entry(fieldsV1=dict(fields))])
        assert first == second
        assert (first[Manager("m", APPLY)].fields is second[Manager("m", APPLY)].fields) is shared
