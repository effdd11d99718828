"""Tests of ConfigMaps and Secrets against the reference: defaults, validation, warnings, and the life of objects."""

import base64
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from hack.lib.servers.certificates import Authority
from tests.differential.helpers.differences import compared
from tests.differential.helpers.kind_steps import creations, life, metadata_steps
from tests.differential.helpers.write_steps import JSON_PATCH, MERGE, STRATEGIC, applied, operations

pytestmark = pytest.mark.slow

SPACE: Final = "/api/v1/namespaces/default"
MAPS: Final = f"{SPACE}/configmaps"
SECRETS: Final = f"{SPACE}/secrets"
MAP: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}
SECRET: Final[dict[str, Any]] = MAP | {"kind": "Secret"}
KEYS: Final = ("a", "A_b-c.d", ".", "..", "..a", ".a", "a b", "", "x" * 253, "x" * 254, "a/b", "é")
_LARGE: Final = "x" * (1024 * 1024)
MAP_MEMBERS: Final[tuple[dict[str, Any], ...]] = (
    {"data": {}},
    {"data": None, "binaryData": None, "immutable": None},
    *({"data": {key: "x"}} for key in KEYS),
    {"binaryData": {"a b": "YQ==", "c": None, "d": ""}},
    {"binaryData": {"a": "YQ==\n"}},
    {"data": {"a": "x", "b": "é<&>\u2028"}, "binaryData": {"a": "YQ=="}},
    {"data": {"a": None}},
    {"immutable": True},
    {"immutable": False, "data": {"a": "b"}},
)
MAP_MALFORMED: Final[tuple[dict[str, Any], ...]] = (
    {"data": {"a": 1}},
    {"data": {"a": {"b": "c"}}},
    {"data": "x"},
    {"binaryData": {"a": "x"}},
    {"binaryData": {"a": "*"}},
    {"binaryData": {"a": [97, 98]}},
    {"binaryData": {"a": [300]}},
    {"binaryData": {"a": 1}},
    {"immutable": "yes"},
    {"unknown": 1, "data": {"a": "b"}},
)
_DOCKER: Final = ("kubernetes.io/dockercfg", ".dockercfg"), ("kubernetes.io/dockerconfigjson", ".dockerconfigjson")
_DOCUMENTS: Final = ("{}", "{", "", "[]", '"x"', "null", "1", "true", '{"a":[}', "x", '{"auths":{"a":{"auth":"b"}}} x')
TYPES: Final[tuple[dict[str, Any], ...]] = (
    {"type": ""},
    {"type": None},
    {"type": "Opaque"},
    {"type": "example.com/own"},
    {"type": "A B"},
    {"type": "kubernetes.io/service-account-token"},
    {
        "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "kept", "annotations": {"kubernetes.io/service-account.name": "a"}},
    },
    {
        "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "kept", "annotations": {"kubernetes.io/service-account.name": ""}},
    },
    {"type": "kubernetes.io/basic-auth"},
    {"type": "kubernetes.io/basic-auth", "data": {"username": ""}},
    {"type": "kubernetes.io/basic-auth", "stringData": {"password": "x"}},
    {"type": "kubernetes.io/ssh-auth"},
    {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}},
    {"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": "x"}},
    {"type": "kubernetes.io/tls"},
    {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}},
    {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}},
    {"type": "kubernetes.io/tls", "data": {"tls.crt": None, "tls.key": "eA=="}},
    {"type": "bootstrap.kubernetes.io/token"},
    *({"type": name} for name, _ in _DOCKER),
    *({"type": name, "stringData": {key: text}} for name, key in _DOCKER for text in _DOCUMENTS),
    {"type": 1},
)
SECRET_MEMBERS: Final[tuple[dict[str, Any], ...]] = (
    {"data": {}},
    {"data": {"a": None, "b": "", "c": "YQ==\n"}, "stringData": {"c": "x", "d": ""}},
    {"stringData": {}},
    {"stringData": None, "immutable": None},
    *({"stringData": {key: "x"}} for key in KEYS),
    *({"data": {key: "eA=="}} for key in KEYS[:4]),
    {"stringData": {"a": "é<&>"}},
    {"immutable": True, "data": {"a": "YQ=="}},
)
SECRET_MALFORMED: Final[tuple[dict[str, Any], ...]] = (
    {"data": {"a": "x"}},
    {"data": {"a": 1}},
    {"data": []},
    {"stringData": {"a": 1}},
    {"immutable": 1},
    {"unknown": 1},
)
ONE: Final = f"{SECRETS}/merged"
_PLAIN_CHANGES: Final = [one for one in SECRET_MEMBERS if one != SECRET_MEMBERS[1]]
SEQUENCES: Final[dict[str, list[Step]]] = {
    "config maps": [
        *metadata_steps(MAPS, MAP),
        *creations(MAPS, MAP, [*MAP_MEMBERS, *MAP_MALFORMED]),
        *life(MAPS, MAP | {"data": {"k": "v"}, "binaryData": {"b": "YQ=="}}, MAP_MEMBERS, ("metadata.namespace%3Ddefault", "data%3Dx")),
    ],
    "secrets": [
        *metadata_steps(SECRETS, SECRET),
        *creations(SECRETS, SECRET, [*SECRET_MEMBERS, *SECRET_MALFORMED, *TYPES]),
        *life(SECRETS, SECRET | {"stringData": {"k": "v"}}, [*_PLAIN_CHANGES, *TYPES[:10]], ("type%3DOpaque", "type%3Dx", "data%3Dx")),
    ],
    "large": [
        Step("POST", f"{MAPS}?dryRun=All", MAP | {"data": {"a": _LARGE}}),
        Step("POST", f"{MAPS}?dryRun=All", MAP | {"data": {"a": _LARGE}, "binaryData": {"b": "eA=="}}),
        Step("POST", f"{SECRETS}?dryRun=All", SECRET | {"stringData": {"a": _LARGE, "b": "x"}}),
    ],
    "immutable": [
        *(
            Step(method, path, body, headers)
            for base, where, value in ((MAP, MAPS, "b"), (SECRET, SECRETS, "Yg=="))
            for method, path, body, headers in (
                ("POST", where, base | {"metadata": {"name": "fixed"}, "data": {"a": value}, "immutable": True}, {}),
                ("PATCH", f"{where}/fixed", {"data": {"a": "Yw=="}}, MERGE),
                ("PATCH", f"{where}/fixed", {"data": {"a": "Yw=="}, "immutable": None}, MERGE),
                ("PATCH", f"{where}/fixed", {"immutable": False, "binaryData": {"z": "eA=="}}, STRATEGIC),
                ("PATCH", f"{where}/fixed", {"metadata": {"labels": {"a": "b"}}}, MERGE),
                ("PATCH", f"{where}/fixed", operations(("remove", "/data/a")), JSON_PATCH),
                ("PUT", f"{where}/fixed", base | {"metadata": {"name": "fixed"}, "data": {"a": value}, "immutable": True}, {}),
                ("DELETE", f"{where}/fixed", None, {}),
            )
        ),
    ],
    "plain texts": [
        Step("POST", SECRETS, SECRET | {"metadata": {"name": "merged"}, "data": {"a": "YQ=="}}),
        Step("PATCH", ONE, {"stringData": {"a": "x", "b": "y"}}, MERGE),
        Step("PATCH", ONE, {"stringData": {"b": "z"}, "data": {"a": None}}, STRATEGIC),
        Step("PATCH", ONE, {"type": "example.com/other"}, MERGE),
        Step("PATCH", ONE, operations(("add", "/stringData", {"c": "d"})), JSON_PATCH),
        applied(ONE, SECRET | {"metadata": {"name": "merged"}, "stringData": {"e": "f"}}),
        applied(ONE, SECRET | {"metadata": {"name": "merged"}, "stringData": {"e": "g"}, "data": {"h": "aQ=="}}),
        applied(ONE, SECRET | {"metadata": {"name": "merged"}, "data": {"h": "aQ=="}}),
        applied(ONE, SECRET | {"metadata": {"name": "merged"}, "stringData": {"e": "z"}}, "fieldManager=y"),
        Step("PUT", ONE, SECRET | {"metadata": {"name": "merged"}, "stringData": {"only": "x"}}),
        Step("GET", ONE),
        Step("DELETE", ONE),
    ],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(pair: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    compared(pair, SEQUENCES[name])


def test_certificates(pair: Pair, tmp_path: Path) -> None:
    """Warn about certificates that do not match their keys."""
    authority = Authority(tmp_path, "ca")
    one, other = authority.issue("one"), authority.issue("other")
    texts = {"one": one.cert.read_bytes(), "key": one.key.read_bytes(), "other": other.key.read_bytes(), "none": b"", "junk": b"junk"}
    csr = b"-----BEGIN CERTIFICATE REQUEST-----\neA==\n-----END CERTIFICATE REQUEST-----\n"
    pairs = [("one", "key"), ("one", "other"), ("none", "key"), ("one", "none"), ("key", "key"), ("one", "one"), ("junk", "junk")]
    bodies = [(texts[certificate], texts[key]) for certificate, key in pairs] + [(csr, texts["key"]), (texts["one"], csr)]
    data = [{"tls.crt": base64.b64encode(first).decode(), "tls.key": base64.b64encode(second).decode()} for first, second in bodies]

    compared(pair, [Step("POST", f"{SECRETS}?dryRun=All", SECRET | {"type": "kubernetes.io/tls", "data": one}) for one in data])
