"""Values, texts and bodies of which the hostile requests consist."""

from typing import Any, Final

from tests.support.builders.crds import crd, version

GROUP: Final = "hostile.example.com"
PATH: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
ONE: Final = f"{PATH}/a"
DRY: Final = "?dryRun=All"
JSON: Final = {"Content-Type": "application/json"}
YAML: Final = {"Content-Type": "application/yaml"}
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
STRATEGIC: Final = {"Content-Type": "application/strategic-merge-patch+json"}
VALIDATIONS: Final = ("Strict", "Warn", "Ignore")

_FIELDS: Final[dict[str, Any]] = {
    "n": {"type": "integer"},
    "i": {"type": "integer", "format": "int32"},
    "f": {"type": "number"},
    "s": {"type": "string"},
    "b": {"type": "boolean"},
    "l": {"type": "array", "items": {"type": "integer"}},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
}
_SCHEMA: Final = {"type": "object", "properties": {"spec": {"type": "object", "properties": _FIELDS}}}
CRD: Final = crd("things", version("v1", storage=True, schema=_SCHEMA), kind="Thing", group=GROUP)


def body(spec: bytes, metadata: bytes = b'"name":"a"', more: bytes = b"") -> bytes:
    """Return an object in JSON whose parts are inserted verbatim."""
    return b'{"apiVersion":"%b/v1","kind":"Thing","metadata":{%b},"spec":{%b}%b}' % (GROUP.encode(), metadata, spec, more)


def arrays(levels: int) -> bytes:
    """Return nested arrays."""
    return b"[" * levels + b"]" * levels


def objects(levels: int) -> bytes:
    """Return nested objects."""
    return b'{"a":' * levels + b"1" + b"}" * levels


NUMBERS: Final = (
    *(b"1e400", b"-1e400", b"-0", b"-0.0", b"1E+2", b"1e2", b"0.1e1", b"1.0", b"10e-1", b"1.5", b"1e-400", b"5e-324", b"1e21"),
    *(b"1e20", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"-9223372036854775809"),
    *(b"18446744073709551615", b"18446744073709551616", b"9007199254740993", b"2147483648", b"1.7976931348623157e308"),
    *(b"1.7976931348623159e308", b"1e-7", b"0.00001", b"1" * 100, b"1" * 309, b"1" * 10000, b"0." + b"1" * 10000),
    *(b"1e" + b"9" * 1000, b"1e-" + b"9" * 1000, b"1." + b"0" * 400, b"-" + b"9" * 40, b"01", b"00", b"-01", b"+1", b"0x10", b"1."),
    *(b".5", b"-", b"1e", b"1e+", b"--1", b"1_000", b"1,000", b"Infinity", b"-Infinity", b"NaN", b"nan", b"1f", b"0b1", b"0o7"),
    *(b"1 2", b"true1", b"tru", b"nul", b"None", b"True", b"undefined", b"'a'", b"\xef\xbc\x91"),
)
TEXTS: Final = (
    *(b'"\xff"', b'"\xc3"', b'"\xc3\x28"', b'"\xe2\x82"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xc0\x80"', b'"a\xff\xfeb"'),
    *(b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\ud800\\udc00"', b'"\\ud83d\\ude00"', b'"\\ud800x"', b'"\\uD83D\\u0041"', b'"\\\\ud800"'),
    *(b'"\\u0000"', b'"\x00"', b'"\x01"', b'"\x1f"', b'"\x7f"', b'"\t"', b'"\n"', b'"\\u007f"', b'"\\u0001"', b'"\\u2028\\u2029"'),
    *(b'"\\x41"', b'"\\a"', b'"\\u12"', b'"\\u12G4"', b'"\\"', b'"', b'"abc', b'"\\/"', b'"<>&"', b'"\xef\xbb\xbf"', b'"\xe2\x80\xa8"'),
    *(b'"' + b"x" * 100_000 + b'"', b'"\\u003c"', b'"\xf0\x9f\x98\x80"', b'"\\b\\f\\n\\r\\t"', b'"it\'s"'),
)
DUPLICATES: Final = (
    body(b'"n":1,"n":2'),
    body(b'"any":{"a":1,"a":{"b":1,"b":2},"a":1}'),
    body(b'"any":[{"a":1,"a":2},{"a":1,"a":2}]'),
    body(b'"n":1', b'"name":"a","name":"b"'),
    body(b'"n":1', b'"name":"a","labels":{"x":"y","x":"z"}'),
    body(b'"n":1', b'"name":"a","Name":"b"'),
    body(b'"n":1', b'"name":"a","unknown":1,"unknown":2'),
    body(b'"N":1,"n":2'),
    body(b'"n":1', more=b',"kind":"Other"'),
    body(b'"n":1', more=b',"Kind":"Other"'),
    body(b'"n":1', more=b',"KIND":"Thing","ApiVersion":"x/v1"'),
    body(b'"n":1', more=b',"spec":{"n":2}'),
    body(b'"n":1', more=b',"metadata":{"name":"b"}'),
    body(b'"n":1', more=b',"Metadata":{"name":"b"}'),
    body(b'"any":{"\\u0061":1,"a":2}'),
    body(b'"any":{"\xff":1,"\xfe":2}'),
    body(b'"any":{"\\ud800":1,"\\udfff":2}'),
    b'{"kind":"Thing","kind":1}',
    b'{"kind":1,"kind":"Thing"}',
    b'{"kind":{"kind":1},"apiVersion":[],"kind":"Thing"}',
    b'{"apiVersion":true,"apiVersion":"%b/v1","kind":"Thing","kind":-1}' % GROUP.encode(),
    body(b'"any":{"kind":1,"kind":2}', more=b',"kind":null,"kind":"Thing"'),
    b'{"Kind":"Thing","APIVersion":"%b/v1"}' % GROUP.encode(),
)
KEYS: Final = (
    *(b'"":1', b'".":1', b'"a.b":1', b'"a/b":1', b'"a[0]":1', b'" ":1', b'"\\"":1', b'"\\u0000":1', b'"\xff":1', b'"\\ud800":1'),
    *(b'"$ref":1', b'"\xe2\x98\x83":1', b'"__proto__":{}', b'"<":1', b'"\\n":1', b'"' + b"k" * 5000 + b'":1', b'"metadata":1'),
    *(b'"kind":1', b'"apiVersion":1'),
)
WHOLE: Final = (
    *(b"", b" ", b"null", b"true", b"1", b'"x"', b"[]", b"{}", b"[{}]", b"{", b"}", b"[", b"]", b":", b",", b'{"', b'{"a', b'{"a"'),
    *(b'{"a":', b'{"a":1', b'{"a":1,', b'{"a":1,}', b"{,}", b"[1,]", b"[,1]", b'{"a" 1}', b"{a:1}", b"{1:1}", b"{null:1}"),
    *(b'{"a":1}}', b'{"a":1}{', b'{"a":1}x', b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"\x00", b"{}\x00", b"// x\n{}"),
    *(b"{/* x */}", b"{} # x", b"NaN", b"Infinity", b"\x1b[31m", b'{"kind":"Thing"}', b'{"apiVersion":"v1"}', b'{"kind":""}'),
    *(b'{"kind":null}', b'{"kind":{}}', b'{"apiVersion":[],"kind":1}', b"\xff", b'{"kind":"Thing","apiVersion":"a/b/c"}'),
    *(b'{"kind":"Thing","apiVersion":"%b/v2"}' % GROUP.encode(), b'{"kind":"Thing","apiVersion":" "}'),
    *(b'{"kind":"Other","apiVersion":"%b/v1","spec":{"n":1e400}}' % GROUP.encode(), b'{"kind":1,"spec":{"n":1e400}}'),
    *(b'{"spec":{"n":1e400}}', b'{"apiVersion":1,"spec":{"n":1e400}}', b'{"apiVersion":"a/b/c","kind":"Thing","n":1e400}'),
    *(b'{"n":1e400,"kind":1}', b"[1e400]", b"1e400", body(b'"n":1') + b"x", body(b'"n":1') + b"{}", body(b'"n":1') + b"\n\n "),
    *(b'\n\t{"apiVersion":"%b/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"n":1}}' % GROUP.encode(),),
    *(b'{"apiVersion":"%b/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"n":1}' % GROUP.encode(),),
    *(b'k8s\x00{"apiVersion":"%b/v1","kind":"Thing","metadata":{"name":"a"},"spec":{}}' % GROUP.encode(), b"[" * 150, b"{" * 150),
    *(b'{"a":' * 150, b'[{"a":' * 90, b'"' + b"\\" * 3001, b'"\\u', b'"\\u12', b'["\\', b"tru", b"[n", b"-", b"[1.", b"1e", b"1e+"),
    *(b"f",),
)
METADATA: Final = ("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
LISTS: Final = ("labels", "annotations", "finalizers", "ownerReferences", "managedFields", "selfLink", "deletionGracePeriodSeconds")
WRONG: Final = (
    *(b"1", b"1.5", b'"x"', b"true", b"null", b"[]", b"{}", b"[1]", b'["x"]', b"[null]", b"[{}]", b'{"a":1}', b'{"a":null}', b"-1"),
    *(b'""', b"1e400"),
)
