"""Query parameters: decoded as Go does, refused in the reference's words."""

from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.endpoints.handlers.options import (
    STRICT,
    UNREADABLE,
    WARN,
    DeleteQuery,
    ListQuery,
    check_delete,
    check_export,
    delete_query,
    list_query,
    manager_or_agent,
    meta_field_label,
    write_query,
)
from apiext.endpoints.handlers.query_parameters import Query, parse_query
from apiext.meta.errors import StatusError
from apiext.storage.interface import EVERYTHING, Preconditions, VersionMatch


def query(text: str) -> Query:
    """The parameters of a URL."""
    return parse_query(make_mocked_request("GET", f"/x?{text}"))


def listed(text: str, **more: Any) -> ListQuery:
    """The options of a list."""
    return list_query(query(text), meta_field_label, **more)


def test_parameters() -> None:
    """Values keep their order, plus signs are spaces, and an empty value is one."""
    assert query("a=1&b=x+y&a=2&c&d=%FF") == {"a": ["1", "2"], "b": ["x y"], "c": [""], "d": ["\ufffd"]}
    assert query("") == {}


def test_list_options() -> None:
    """Everything that a list can be told reaches the registry."""
    asked = listed("resourceVersion=5&resourceVersionMatch=Exact&limit=7&continue=&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx")
    options = asked.list_options()

    assert (options.resource_version, options.match, options.limit) == ("5", VersionMatch.EXACT, 7)
    assert str(options.selection.labels) == "a=b"
    assert str(options.selection.fields) == "metadata.name=x"
    assert listed("").list_options().selection is EVERYTHING
    assert listed("limit=-1").list_options().limit == 0


def test_watch_options() -> None:
    """A boolean is true unless it says 0 or false."""
    asked = listed("watch=true&allowWatchBookmarks&sendInitialEvents=False&resourceVersionMatch=NotOlderThan&timeoutSeconds=3")
    options = asked.watch_options(timeout=3.0)

    assert asked.timeout_seconds == 3
    assert (options.allow_bookmarks, options.send_initial_events, options.timeout) == (True, False, 3.0)


def test_a_named_watch() -> None:
    """A name in the path is a field selector; another one in the query contradicts it."""
    assert str(listed("", name="x").selection.fields) == "metadata.name=x"
    assert str(listed("fieldSelector=metadata.name%3Dx", name="x").selection.fields) == "metadata.name=x"
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
def test_unreadable(text: str, message: str) -> None:
    """What cannot be read is 400."""
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
def test_contradictions(text: str, causes: list[str]) -> None:
    """What does not go together is 422, with a cause for each contradiction."""
    with pytest.raises(StatusError) as caught:
        listed(text)

    error = caught.value
    assert (error.code, error.reason) == (422, "Invalid")
    found = [cause["message"] for cause in (error.details or {})["causes"]]
    assert len(found) == len(causes)
    assert all(expected in message for expected, message in zip(causes, found, strict=True))


def test_write_options() -> None:
    """Without parameters unknown fields are warned of."""
    asked = write_query(query("dryRun=All&fieldManager=me&fieldValidation=Strict"), "CreateOptions")

    assert (asked.dry_run, asked.field_manager, asked.field_validation) == (True, "me", STRICT)
    assert write_query({}, "CreateOptions").field_validation == WARN


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("dryRun=x", {}, 'dryRun: Unsupported value: ["x"]: supported values: "All"'),
        ("dryRun=", {}, 'dryRun: Unsupported value: [""]: supported values: "All"'),
        ("fieldValidation=y", {}, 'supported values: "", "Ignore", "Strict", "Warn"'),
        (f"fieldManager={'x' * 129}", {}, "fieldManager: Too long: may not be more than 128 bytes"),
        ("fieldManager=a%00b", {}, 'Invalid value: "a\\x00b": invalid character U+0000 (at position 1)'),
        ("force=true", {"patch": True}, "force: Forbidden: may not be specified for non-apply patch"),
        ("", {"patch": True, "apply": True}, "fieldManager: Required value: is required for apply patch"),
    ],
)
def test_wrong_write_options(text: str, options: dict[str, bool], message: str) -> None:
    """Each wrong parameter is told by its name."""
    with pytest.raises(StatusError) as caught:
        write_query(query(text), "PatchOptions", **options)

    assert caught.value.code == 422
    assert caught.value.message.startswith('PatchOptions.meta.k8s.io "" is invalid: ')
    assert message in caught.value.message


def test_force_is_for_patches() -> None:
    """Other writes do not know `force`, and ignore it."""
    assert write_query(query("force=true"), "CreateOptions").force is None


def test_delete_options() -> None:
    """The options of a delete in its query."""
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
def test_wrong_delete_options(text: str, message: str) -> None:
    """Each wrong option is told by its name."""
    with pytest.raises(StatusError, match=r'DeleteOptions.meta.k8s.io "" is invalid') as caught:
        check_delete(delete_query(query(text)))

    assert message in caught.value.message


def test_export_is_gone() -> None:
    """Only a false `export` is let pass."""
    check_export(query("export=0"))
    with pytest.raises(StatusError, match=r"the export parameter, deprecated since v1\.14, is no longer supported"):
        check_export(query("export"))


@pytest.mark.parametrize(
    "manager, agent, expected",
    [
        ("me", "kubectl/v1", "me"),
        ("", "kubectl/v1 (linux)", "kubectl"),
        ("", "", ""),
        ("", "a\x00b/c", "ab"),
        ("", "\u00e9" * 100, "\u00e9" * 64),
    ],
)
def test_field_manager(manager: str, agent: str, expected: str) -> None:
    """Who does not name a manager is known by the program."""
    assert manager_or_agent(manager, agent) == expected
