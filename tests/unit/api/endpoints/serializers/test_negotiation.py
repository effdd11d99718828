"""Negotiation of the media types of responses and bodies."""

import pytest
from aiohttp.test_utils import make_mocked_request
from aiohttp.web import Request

from apiext.api.endpoints.request import SERVES_CBOR
from apiext.api.endpoints.serializers.negotiation import (
    BUILTIN_OFFERS,
    JSON,
    PLAIN_OFFERS,
    RESOURCE_OFFERS,
    TABLELESS_OFFERS,
    Convert,
    MediaType,
    Offers,
    input_type,
    negotiate,
    negotiate_output,
    negotiate_stream,
)
from apiext.base.meta.errors import StatusError

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/yaml;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1"


def body_type(content_type: str, *, protobuf: bool = False) -> str:
    """Return the media type of a body with a Content-Type."""
    return input_type(make_mocked_request("POST", "/", headers={"Content-Type": content_type}), protobuf=protobuf)


@pytest.mark.parametrize(
    "accept, expected",
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("*", "application/json"),
        ("application/*", "application/json"),
        ("application/yaml", "application/yaml"),
        ("application/yaml;q=0.5, application/json", "application/json"),
        ("application/json;q=0.1, application/yaml;q=0.2", "application/yaml"),
        ("*/*;q=1, application/yaml;q=0.5", "application/yaml"),
        ("application/vnd.kubernetes.protobuf, application/json", "application/json"),
        ("text/html, application/xhtml+xml, */*;q=0.8", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("nonsense, application/yaml", "application/yaml"),
        ("a/b/c, application/yaml", "application/yaml"),
        ("application/json;stream=watch", "application/json"),
        ("application/yaml;q=x, application/json;q=0.1", "application/json"),
        ("application/yaml/", "application/yaml"),
        ("*/", "application/json"),
        ("application/yaml;stream==", "application/yaml"),
        ("application/yaml;stream=other==", "application/yaml"),
        ("application/json;q=0.1, application/yaml;q=0.2=", "application/yaml"),
    ],
)
def test_chooses_the_best_clause(accept: str, expected: str) -> None:
    """Choose the best clause that the endpoint can honour; specific ones precede wildcards of any quality, as in the reference."""
    assert negotiate(accept, RESOURCE_OFFERS).type == expected


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Foo;g=meta.k8s.io;v=v1",
        "application/json;as=Table;g=other;v=v1",
        "application/json;as=Table;g=meta.k8s.io;v=v2",
        "application/json;stream=other",
        "application/json;stream=watq=",
        "application/json/x",
        "*/ ;q=1",
        "application/yaml;stream=watch",
        "application/json;sv=v2",
        "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1",
        "application/cbor",
    ],
)
def test_rejects_unavailable_types(accept: str) -> None:
    """Answer 406 with the reference's list of types, which includes Protobuf."""
    with pytest.raises(StatusError) as caught:
        negotiate(accept, RESOURCE_OFFERS)

    assert caught.value.code == 406
    assert caught.value.message == (
        "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_returns_conversions() -> None:
    """Return the requested conversion for as, g and v in any order, in JSON or YAML."""
    assert negotiate(TABLE, RESOURCE_OFFERS) == MediaType("application/json", Convert("Table", "meta.k8s.io", "v1"))
    assert negotiate(PARTIAL, RESOURCE_OFFERS).convert == Convert("PartialObjectMetadata", "meta.k8s.io", "v1beta1")
    assert negotiate(f"{TABLE},application/json", PLAIN_OFFERS) == MediaType("application/json")


def test_offers_protobuf() -> None:
    """Offer Protobuf for built-in kinds and for metadata, not for custom resources and tables."""
    plain = "application/vnd.kubernetes.protobuf"
    partial = f"{plain};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    table = f"{plain};as=Table;g=meta.k8s.io;v=v1,application/json"

    assert negotiate(f"{plain},application/json", BUILTIN_OFFERS).type == plain
    assert negotiate(f"{plain},application/json", RESOURCE_OFFERS).type == "application/json"
    assert [negotiate(partial, offers).type for offers in (BUILTIN_OFFERS, RESOURCE_OFFERS)] == [plain, plain]
    assert negotiate(table, BUILTIN_OFFERS) == MediaType("application/json")


def test_accepts_one_server_version() -> None:
    """Accept one server version for objects and none for errors."""
    assert negotiate("application/json;sv=v1", RESOURCE_OFFERS).type == "application/json"
    with pytest.raises(StatusError):
        negotiate("application/json;sv=v1", PLAIN_OFFERS)


def test_sorts_hundreds_of_clauses() -> None:
    """Sort a long header by quality within linear time."""
    header = ",".join(f"text/x{number};q=0.{number}" for number in range(1, 900)) + ",application/yaml;q=0.001"

    assert negotiate(header, RESOURCE_OFFERS).type == "application/yaml"


def test_considers_a_bounded_number_of_types() -> None:
    """Consider the first 1,000 clauses of a header, and as many parameters of a clause."""
    assert negotiate("a/b," * 999 + "application/yaml", RESOURCE_OFFERS).type == "application/yaml"
    with pytest.raises(StatusError):
        negotiate("a/b," * 1_000 + "application/yaml", RESOURCE_OFFERS)
    assert not negotiate("application/json;" + "a=b;" * 1_000 + "pretty=1", RESOURCE_OFFERS).pretty


@pytest.mark.parametrize(
    "path, agent, accept, pretty",
    [
        ("/?pretty=1", "", "", True),
        ("/?pretty=true", "", "", True),
        ("/?pretty=0", "curl/8", "", False),
        ("/?pretty", "curl/8", "", True),
        ("/", "curl/8", "", True),
        ("/", "Mozilla/5.0 (X11)", "", True),
        ("/", "kubectl/v1.37.1", "", False),
        ("/", "kubectl/v1.37.1", "application/json;pretty=1", True),
        ("/?pretty=1", "", "application/yaml", False),
    ],
)
def test_indents_for_humans(path: str, agent: str, accept: str, *, pretty: bool) -> None:
    """Indent JSON on request and for user agents of humans."""
    request = make_mocked_request("GET", path, headers={"User-Agent": agent, "Accept": accept})

    assert negotiate_output(request, RESOURCE_OFFERS).pretty is pretty


@pytest.mark.parametrize("accept", ["", "application/json", "*/*"])
@pytest.mark.parametrize("offers", [BUILTIN_OFFERS, PLAIN_OFFERS, RESOURCE_OFFERS, TABLELESS_OFFERS])
def test_offers_json_everywhere(accept: str, offers: Offers) -> None:
    """Choose plain JSON without a negotiation as with one."""
    request = make_mocked_request("GET", "/", headers={"Accept": accept})

    assert negotiate_output(request, offers) == negotiate(accept, offers) == MediaType()
    assert negotiate_output(_with_cbor(accept), offers) == MediaType()


def test_rejects_yaml_watches() -> None:
    """Answer 406 to a watch in YAML, with the types that it can have."""
    request = make_mocked_request("GET", "/", headers={"Accept": "application/yaml"})
    with pytest.raises(StatusError, match="only the following media types are accepted: application/json;stream=watch, ") as caught:
        negotiate_stream(request, RESOURCE_OFFERS)

    assert caught.value.code == 406


@pytest.mark.parametrize(
    "content_type, expected",
    [
        ("", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("Application/YAML", "application/yaml"),
    ],
)
def test_returns_the_type_of_bodies(content_type: str, expected: str) -> None:
    """Take a body for JSON without a Content-Type; ignore parameters and case."""
    assert body_type(content_type) == expected


@pytest.mark.parametrize("content_type", ["text/plain", ";;", "application/vnd.kubernetes.protobuf", "json"])
def test_rejects_unknown_body_types(content_type: str) -> None:
    """Answer 415 to bodies of other types, which include Protobuf unless the kind has it."""
    with pytest.raises(StatusError, match="the body of the request was in an unknown format - accepted media types include: ") as caught:
        body_type(content_type)

    assert caught.value.code == 415
    assert body_type("application/vnd.kubernetes.protobuf", protobuf=True)


@pytest.mark.parametrize("params", ["", ";", "; charset=utf-8", ';a="b;c"', ";a=b; a=b", ';a="\\"" ', ";a=b;", "; a=b ;c=d"])
def test_ignores_parameters(params: str) -> None:
    """Ignore well-formed parameters."""
    assert body_type(JSON + params) == JSON


@pytest.mark.parametrize("params", ["; a", "; a b=c", ";=b", ';a="b', ";a=b c"])
def test_rejects_malformed_parameters(params: str) -> None:
    """Reject a Content-Type with malformed parameters."""
    with pytest.raises(StatusError) as refused:
        body_type(JSON + params)

    assert refused.value.code == 415


def _with_cbor(accept: str) -> Request:
    request = make_mocked_request("GET", "/", headers={"Accept": accept, "Content-Type": "application/cbor"})
    request[SERVES_CBOR] = True
    return request


def test_offers_cbor_where_it_is_served() -> None:
    """Choose CBOR if the server serves it, except for tables, and name it in errors."""
    cbor = "application/cbor"

    assert negotiate_output(_with_cbor(cbor), RESOURCE_OFFERS).type == cbor
    assert negotiate_stream(_with_cbor(cbor), RESOURCE_OFFERS).type == cbor
    assert negotiate_output(_with_cbor(f"{cbor},application/json"), RESOURCE_OFFERS).type == cbor
    assert negotiate_output(_with_cbor("application/*"), RESOURCE_OFFERS).type == JSON
    assert input_type(_with_cbor(""), protobuf=False) == cbor
    with pytest.raises(StatusError, match=r"application/vnd.kubernetes.protobuf, application/cbor$"):
        negotiate_output(_with_cbor(f"{cbor};as=Table;g=meta.k8s.io;v=v1"), RESOURCE_OFFERS)
    with pytest.raises(StatusError, match=r"protobuf;stream=watch, application/cbor-seq$"):
        negotiate_stream(_with_cbor("application/yaml"), RESOURCE_OFFERS)
