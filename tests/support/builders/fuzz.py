"""Hypothesis strategies for hostile requests: bodies, patches, definitions, paths, queries and headers."""

import json
from typing import Any, Final

from hypothesis import strategies as st

GROUP: Final = "fuzz.example.com"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"

_TEXT: Final = st.text(max_size=12)
_NAMES: Final = st.sampled_from(["a", "b", "A", "", ".", "..", "a/b", "%", "\x00", "é", "a" * 300, "-a", "a.b", "status"]) | _TEXT
_NUMBERS: Final = st.sampled_from([0, 1, -1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**400, 1.5, -0.0, 1e308, 1e-300, 1e21])
_SCALARS: Final = st.none() | st.booleans() | _NUMBERS | st.integers() | st.floats() | _NAMES
_KEYS: Final = (
    st.sampled_from(["metadata", "spec", "status", "name", "labels", "kind", "apiVersion", "replicas", "size", "any", "items", "namespace"])
    | _TEXT
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4)


VALUES: Final = st.recursive(_SCALARS, _containers, max_leaves=12)
"""JSON of any form, with the extensions of Python's json: NaN, Infinity, lone surrogates and numbers of any size."""


def some(members: dict[str, st.SearchStrategy[Any]], most: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Choose a few members: most of the object then stays valid."""
    chosen = st.lists(st.sampled_from(sorted(members)), max_size=most, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: members[name] for name in names}))


_METADATA: Final = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "uid", "resourceVersion"),
    *("generation", "selfLink", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"),
)
METADATA: Final = some(
    dict.fromkeys(_METADATA, VALUES)
    | {
        "labels": st.dictionaries(_NAMES, _SCALARS, max_size=3) | VALUES,
        "ownerReferences": st.lists(
            st.fixed_dictionaries({}, optional=dict.fromkeys(("apiVersion", "kind", "name", "uid", "controller"), _SCALARS)), max_size=2
        ),
        "managedFields": st.lists(
            st.fixed_dictionaries(
                {}, optional=dict.fromkeys(("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"), VALUES)
            ),
            max_size=2,
        ),
    },
)


def widgets(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Generate almost valid objects, most of them with a given name."""
    named = METADATA.map(lambda metadata: {"name": name} | {key: value for key, value in metadata.items() if key != "name"})
    spec = some({"replicas": VALUES | st.integers(0, 9), "size": VALUES | _TEXT, "any": st.dictionaries(_KEYS, VALUES), "unknown": VALUES})
    return some(
        {
            "apiVersion": st.sampled_from([f"{GROUP}/v1", f"{GROUP}/v1", f"{GROUP}/v2", "v1", "a/b/c", 1, None]),
            "kind": st.sampled_from(["Widget", "Widget", "widget", "Gadget", "", None]),
            "metadata": named | named | named | METADATA | VALUES,
            "spec": spec | spec | spec | VALUES,
            "status": VALUES,
        }
    ).map(lambda drawn: {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}} | drawn)


def encoded(value: Any) -> bytes:
    """Encode a body as Python does, with lone surrogates and infinities."""
    return json.dumps(value).encode("utf-8", "surrogatepass")


_BROKEN: Final = st.sampled_from(
    [
        b"",
        b"{",
        b"{}{}",
        b"\xff\xfe",
        b"nul",
        b'{"a":1,"a":2}',
        b"[" * 20000,
        b'{"a":' * 20000,
        b"a: &x [*x, *x]",
        b"a: *nowhere",
        b"&a [" + b"*a," * 9 + b"*a]",
        b"!!python/object:os.system {}",
        b"--- a\n--- b",
        b"? [a]\n: b",
        b"k8s\x00\x0a\x02",
        b"\x1f\x8b\x08\x00",
        b'"\\ud800"',
        b'{"\\u0000":1e999}',
        b" " * 4_000_000,
    ]
)
BODIES: Final = VALUES.map(encoded) | widgets("a").map(encoded) | st.binary(max_size=64) | _BROKEN
"""Bodies, partly JSON."""

_PATHS: Final = [
    "",
    "/a",
    "/status",
    "/metadata",
    "/metadata/name",
    "/metadata/labels/a",
    "/spec",
    "/spec/replicas",
    "/spec/any",
    "/spec/any/-",
]
_OPERATIONS: Final = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x", 1, None]),
        "path": st.sampled_from([*_PATHS, "/spec/any/0", "/spec/any/99999999999", "/spec/any/-1", "no", "/~2", 1, None]),
        "from": st.sampled_from([*_PATHS, "x", None]),
        "value": VALUES,
    },
)
_SOUND: Final = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "replace", "test", "copy"]),
        "path": st.sampled_from(["/spec/any", "/spec/any/a", "/spec/any/a/0", "/spec/replicas", "/metadata/labels"]),
        "from": st.sampled_from(["/spec/any", "/spec/any/a", "/spec/replicas"]),
        "value": VALUES | st.integers(0, 9) | st.just({"a": "b"}),
    }
)
_MERGES: Final = some(
    {
        "spec": some({"replicas": st.integers(0, 9) | VALUES, "size": _TEXT, "any": st.dictionaries(_KEYS, VALUES) | VALUES}),
        "metadata": METADATA,
        "status": some({"replicas": st.integers(0, 9) | VALUES}) | VALUES,
    }
)
PATCHES: Final = st.one_of(
    st.tuples(st.just("application/json-patch+json"), (st.lists(_OPERATIONS, max_size=4) | VALUES).map(encoded) | _BROKEN),
    st.tuples(st.just("application/json-patch+json"), st.lists(_SOUND, max_size=3).map(encoded)),
    st.tuples(st.just("application/merge-patch+json"), _MERGES.map(encoded)),
    st.tuples(st.just("application/json"), widgets("subject").map(encoded)),
    st.tuples(
        st.sampled_from(
            ["application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml", "x", ""]
        ),
        (widgets("subject") | VALUES).map(encoded) | _BROKEN,
    ),
)
"""Media types with patches."""

_SEGMENTS: Final = st.sampled_from(
    [
        *("api", "apis", "v1", GROUP, "namespaces", "default", "widgets", "a", "status", "scale", "events", "watch", "openapi", "v3", "v2"),
        *("apiextensions.k8s.io", "customresourcedefinitions", "healthz", "metrics", "version"),
        *("..", "", "%00", "%ff", "%", "%2F", "%2e%2e"),
    ]
)
PATHS: Final = (
    st.sampled_from(
        [
            WIDGETS,
            f"{WIDGETS}/a",
            f"{WIDGETS}/a/status",
            f"{WIDGETS}/a/scale",
            f"/apis/{GROUP}/v1/widgets",
            f"/apis/{GROUP}/v1/watch/widgets",
            "/api/v1/namespaces",
            "/api/v1/namespaces/a",
            "/api/v1/namespaces/a/finalize",
            "/api/v1/namespaces/default/events",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "/openapi/v2",
            f"/openapi/v3/apis/{GROUP}/v1",
        ]
    )
    | st.lists(_SEGMENTS, max_size=8).map(lambda segments: "/" + "/".join(segments))
    | st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?#"), max_size=20).map(lambda text: "/" + text)
)

_QUERY_NAMES: Final = st.sampled_from(
    [
        *("limit", "continue", "labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch", "watch", "allowWatchBookmarks"),
        *("sendInitialEvents", "timeoutSeconds", "dryRun", "fieldManager", "fieldValidation", "force", "pretty", "includeObject"),
        *("propagationPolicy", "gracePeriodSeconds", "orphanDependents", "timeout", "x"),
    ]
)
_QUERY_VALUES: Final = st.sampled_from(
    [
        *("", "1", "0", "-1", "x", "true", "false", "All", "2", "9" * 30, "a=b", "a in (b", "!", "a,,b", "metadata.name=a", "spec.x!="),
        *("Exact", "NotOlderThan", "Strict", "Warn", "Ignore", "Foreground", "None", "Object", "1s", "-5m", "eyJ2IjoibWV0YSJ9"),
        *("%00", "%ff", "%zz", "+", "é"),
    ]
)
QUERIES: Final = st.lists(st.tuples(_QUERY_NAMES, _QUERY_VALUES | st.text("ab=!,()<>&;%\\ '\"", max_size=8)), max_size=4).map(
    lambda pairs: "&".join(f"{name}={_quoted(value)}" for name, value in pairs)
)

HEADERS: Final = st.fixed_dictionaries(
    {},
    optional={
        "Accept": st.sampled_from(
            [
                "*/*",
                "application/yaml",
                "application/json;as=Table;g=meta.k8s.io;v=v1",
                "application/json;as=Table;g=meta.k8s.io;v=v9",
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                "application/vnd.kubernetes.protobuf",
                "application/json;stream=watch",
                "application/json;q=x",
                ";;;",
                "text/html",
                ",",
            ]
        ),
        "Content-Type": st.sampled_from(
            ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain", ";", "a/b;c"]
        ),
        "Content-Encoding": st.sampled_from(["gzip", "identity", "br"]),
        "Accept-Encoding": st.sampled_from(["gzip", "gzip;q=0", "*", ""]),
        "If-None-Match": st.sampled_from(["*", '"x"', "W/"]),
        "Authorization": st.sampled_from(["Bearer x", "Basic x", "Bearer", ""]),
        "Impersonate-User": st.sampled_from(["x", ""]),
        "X-Remote-User": st.just("x"),
        "User-Agent": st.sampled_from(["", "a/b", "\xff", "x" * 5000]),
        "Origin": st.just("https://example.com"),
        "Audit-ID": st.sampled_from(["x", "\xe9", "x" * 500]),
    },
)

METHODS: Final = st.sampled_from(["GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"])


def _quoted(value: str) -> str:
    """Quote a query value, perhaps incorrectly, but without a line break."""
    return "".join(
        char if 0x21 <= ord(char) < 0x7F and char != "#" else "".join(f"%{byte:02X}" for byte in char.encode()) for char in value
    )
