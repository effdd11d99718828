"""Query parameters, decoded like Go does and rejected with the reference's messages."""

from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.parameters.options import (
    STRICT,
    UNREADABLE,
    WARN,
    DeleteQuery,
    ListQuery,
    check_delete,
    check_export,
    delete_query,
    list_query,
    meta_field_label,
    short_list_query,
    write_options,
    write_query,
)
from apiext.api.endpoints.parameters.query_parameters import Query, parse_query
from apiext.api.endpoints.request import INFO
from apiext.base.meta.errors import StatusError
from apiext.base.meta.request import RequestInfo
from apiext.base.meta.steps import at_once
from apiext.storage.interface import EVERYTHING, Preconditions, VersionMatch


def query(text: str) -> Query:
    """Parse the parameters of a URL."""
    return parse_query(make_mocked_request("GET", f"/x?{text}"))


def listed(text: str, **more: Any) -> ListQuery:
    """Parse the options of a list."""
    return at_once(list_query(query(text), meta_field_label, **more))


def test_shares_the_options_of_short_queries() -> None:
    """Decode equal short queries once, and leave long ones to steps. Repeat the refusal of an invalid one."""

    def short(text: str, name: str = "") -> ListQuery | None:
        request = make_mocked_request("GET", f"/x?{text}")
        request[INFO] = RequestInfo(name=name)
        return short_list_query(request, meta_field_label)

    found = short("labelSelector=a%3Db&limit=3")

    assert found is short("labelSelector=a%3Db&limit=3")
    assert found is not None
    assert (found.limit, found.selection.labels is not None) == (3, True)
    named = short("limit=3", "a")
    assert named is not None
    assert named.selection.fields is not None
    assert short(f"labelSelector={'a' * 300}") is None
    for _ in range(2):
        with pytest.raises(StatusError, match="ParseInt"):
            short("limit=x")


def test_parses_parameters() -> None:
    """Keep the order of values, decode plus signs as spaces, and keep empty values."""
    assert query("a=1&b=x+y&a=2&c&d=%FF") == {"a": ["1", "2"], "b": ["x y"], "c": [""], "d": ["\ufffd"]}
    assert query("") == {}
    assert query("a=%3D%26&c;d=1&&e=;&=x&f=g=h") == {"a": ["=&"], "": ["x"], "f": ["g=h"]}


def test_ignores_a_query_of_too_many_parameters() -> None:
    """Parse a query once, and not at all if it has more than ten thousand parameters, as Go does."""
    request = make_mocked_request("GET", "/x?a=1" + "&b" * 9_999)

    assert parse_query(request)["a"] == ["1"]
    assert parse_query(request) is parse_query(request)
    assert query("a=1" + "&b" * 10_000) == {}


def test_decodes_list_options() -> None:
    """Decode all options of a list."""
    asked = listed("resourceVersion=5&resourceVersionMatch=Exact&limit=7&continue=&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx")
    options = asked.list_options()

    assert (options.resource_version, options.match, options.limit) == ("5", VersionMatch.EXACT, 7)
    selection = options.selection
    assert selection.labels is not None
    assert selection.fields is not None
    assert selection.labels.text == "a=b"
    assert selection.fields.text == "metadata.name=x"
    assert listed("").list_options().selection is EVERYTHING
    assert listed("limit=-1").list_options().limit == 0


def test_decodes_watch_options() -> None:
    """Decode every boolean except 0 and false as true."""
    asked = listed("watch=true&allowWatchBookmarks&sendInitialEvents=False&resourceVersionMatch=NotOlderThan&timeoutSeconds=3")
    options = asked.watch_options(timeout=3.0)

    assert asked.timeout_seconds == 3
    assert (options.allow_bookmarks, options.send_initial_events, options.timeout) == (True, False, 3.0)


def test_selects_the_name_of_the_path() -> None:
    """Turn the name in the path into a field selector, and reject another one in the query."""
    for query_string in ("", "fieldSelector=metadata.name%3Dx"):
        fields = listed(query_string, name="x").selection.fields
        assert fields is not None
        assert fields.text == "metadata.name=x"
    with pytest.raises(StatusError, match=r"fieldSelector metadata\.name doesn't match requested name"):
        listed("fieldSelector=metadata.name%3Dy", name="x")


@pytest.mark.parametrize(
    "text, message",
    [
        ("limit=abc", 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("limit=9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        (f"timeoutSeconds={'9' * 5000}", "value out of range"),
        ("labelSelector=a+b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("fieldSelector=abc", "invalid selector: 'abc'; can't understand 'abc'"),
        ("fieldSelector=spec.x%3D1", '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ],
)
def test_rejects_malformed_values(text: str, message: str) -> None:
    """Return 400 for a malformed value."""
    with pytest.raises(StatusError) as caught:
        listed(text)

    assert caught.value.code == 400
    assert message in caught.value.message


@pytest.mark.parametrize(
    "text, causes",
    [
        ("resourceVersionMatch=Exact", ["resourceVersionMatch is forbidden unless resourceVersion is provided"]),
        ("resourceVersionMatch=Exact&resourceVersion=0", ['resourceVersionMatch "exact" is forbidden for resourceVersion "0"']),
        (
            "resourceVersionMatch=Foo&continue=x",
            [
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
                "resourceVersionMatch is forbidden when continue is provided",
                'Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""',
            ],
        ),
        ("sendInitialEvents=true", ["sendInitialEvents is forbidden for list"]),
        ("watch=1&sendInitialEvents=true", ["sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"]),
        (
            "watch=1&resourceVersionMatch=Exact",
            [
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                'Unsupported value: "Exact": supported values: "NotOlderThan"',
            ],
        ),
    ],
)
def test_rejects_contradictory_options(text: str, causes: list[str]) -> None:
    """Return 422 with a cause for each contradiction."""
    with pytest.raises(StatusError) as caught:
        listed(text)

    error = caught.value
    assert (error.code, error.reason) == (422, "Invalid")
    found = [cause["message"] for cause in (error.details or {})["causes"]]
    assert len(found) == len(causes)
    assert all(expected in message for expected, message in zip(causes, found, strict=True))


def test_decodes_write_options() -> None:
    """Default the field validation to Warn."""
    asked = write_query(query("dryRun=All&fieldManager=me&fieldValidation=Strict"), "CreateOptions")

    assert (asked.dry_run, asked.field_validation) == (True, STRICT)
    assert write_query({}, "CreateOptions").field_validation == WARN


@pytest.mark.parametrize("more", ["", "&" * 1000], ids=["short", "long"])
def test_reads_write_options_of_a_request(more: str) -> None:
    """Return the same options for equal queries, of any length, and others for another kind of write."""
    path = f"/x?fieldManager=me&force=true{more}"
    for _ in range(2):
        asked = write_options(make_mocked_request("PATCH", path), "PatchOptions", apply=True)
        assert (asked.field_manager, asked.force) == ("me", True)

    assert not write_options(make_mocked_request("PUT", path), "UpdateOptions").force
    for _ in range(2):
        with pytest.raises(StatusError, match="may not be specified for non-apply patch"):
            write_options(make_mocked_request("PATCH", path), "PatchOptions")


@pytest.mark.parametrize(
    "text, message",
    [
        ("dryRun=x", 'dryRun: Unsupported value: ["x"]: supported values: "All"'),
        ("dryRun=", 'dryRun: Unsupported value: [""]: supported values: "All"'),
        ("fieldValidation=y", 'supported values: "", "Ignore", "Strict", "Warn"'),
        (f"fieldManager={'x' * 129}", "fieldManager: Too long: may not be more than 128 bytes"),
        ("fieldManager=a%00b", 'Invalid value: "a\\x00b": invalid character U+0000 (at position 1)'),
        ("force=true", "force: Forbidden: may not be specified for non-apply patch"),
    ],
)
def test_rejects_invalid_write_options(text: str, message: str) -> None:
    """Name each invalid option."""
    with pytest.raises(StatusError) as caught:
        write_query(query(text), "PatchOptions")

    assert caught.value.code == 422
    assert caught.value.message.startswith('PatchOptions.meta.k8s.io "" is invalid: ')
    assert message in caught.value.message


def test_ignores_force_unless_patching() -> None:
    """Ignore `force` for other writes than patches."""
    assert write_query(query("force=true"), "CreateOptions") == write_query(query(""), "CreateOptions")


def test_decodes_delete_options() -> None:
    """Decode the options of a delete from the query."""
    asked = delete_query(query("gracePeriodSeconds=5&orphanDependents=0&dryRun=All&uid=u&resourceVersion="))

    assert asked == DeleteQuery(grace_period_seconds=5, orphan_dependents=False, dry_run=("All",), preconditions=Preconditions(uid="u"))
    check_delete(asked)


@pytest.mark.parametrize(
    "text, message",
    [
        ("propagationPolicy=Foo", 'Unsupported value: "Foo": supported values: "Foreground", "Background", "Orphan", "nil"'),
        ("propagationPolicy=Orphan&orphanDependents=1", "orphanDependents and deletionPropagation cannot be both set"),
        (f"{UNREADABLE}=1&resourceVersion=5", f"{UNREADABLE}: Invalid value: true: cannot be set together with .preconditions"),
        (f"{UNREADABLE}=1&gracePeriodSeconds=5", f"{UNREADABLE}: Invalid value: true: cannot be set together with .gracePeriodSeconds"),
        ("dryRun=x", 'dryRun: Unsupported value: ["x"]: supported values: "All"'),
    ],
)
def test_rejects_invalid_delete_options(text: str, message: str) -> None:
    """Name each invalid option."""
    with pytest.raises(StatusError, match=r'DeleteOptions.meta.k8s.io "" is invalid') as caught:
        check_delete(delete_query(query(text)))

    assert message in caught.value.message


def test_rejects_export() -> None:
    """Accept only a false `export`."""
    check_export(query("export=0"))
    with pytest.raises(StatusError, match=r"the export parameter, deprecated since v1\.14, is no longer supported"):
        check_export(query("export"))
