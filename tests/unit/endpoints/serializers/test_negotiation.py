"""Which media type an answer has, and which a body is read as."""

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.endpoints.serializers.negotiation import (
    BUILTIN_OFFERS,
    RESOURCE_OFFERS,
    STATUS_OFFERS,
    Convert,
    MediaType,
    input_type,
    negotiate,
    negotiate_output,
    negotiate_stream,
)
from apiext.meta.errors import StatusError

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/yaml;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1"


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
    ],
)
def test_media_types(accept: str, expected: str) -> None:
    """The best clause that can be honoured wins; specific ones go before wildcards of any quality, as in the reference."""
    assert negotiate(accept).type == expected


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Foo;g=meta.k8s.io;v=v1",
        "application/json;as=Table;g=other;v=v1",
        "application/json;as=Table;g=meta.k8s.io;v=v2",
        "application/json;stream=other",
        "application/yaml;stream=watch",
        "application/json;sv=v2",
        "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1",
        "application/cbor",
    ],
)
def test_refused(accept: str) -> None:
    """What cannot be given is 406 with the list of the reference, which counts Protobuf in."""
    with pytest.raises(StatusError) as caught:
        negotiate(accept)

    assert caught.value.code == 406
    assert caught.value.message == (
        "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_conversions() -> None:
    """as, g and v ask for another form, in any order and in JSON or YAML."""
    assert negotiate(TABLE) == MediaType("application/json", Convert("Table", "meta.k8s.io", "v1"))
    assert negotiate(PARTIAL).convert == Convert("PartialObjectMetadata", "meta.k8s.io", "v1beta1")
    assert negotiate(f"{TABLE},application/json", STATUS_OFFERS) == MediaType("application/json")


def test_protobuf() -> None:
    """Built-in kinds are written in Protobuf, custom resources are not, and metadata alone always is; tables never are."""
    plain = "application/vnd.kubernetes.protobuf"
    partial = f"{plain};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    table = f"{plain};as=Table;g=meta.k8s.io;v=v1,application/json"

    assert negotiate(f"{plain},application/json", BUILTIN_OFFERS).type == plain
    assert negotiate(f"{plain},application/json", RESOURCE_OFFERS).type == "application/json"
    assert [negotiate(partial, offers).type for offers in (BUILTIN_OFFERS, RESOURCE_OFFERS)] == [plain, plain]
    assert negotiate(table, BUILTIN_OFFERS) == MediaType("application/json")


def test_server_versions() -> None:
    """Objects have one server version to ask for, errors have none."""
    assert negotiate("application/json;sv=v1", RESOURCE_OFFERS).type == "application/json"
    with pytest.raises(StatusError):
        negotiate("application/json;sv=v1", STATUS_OFFERS)


def test_hundreds_of_clauses() -> None:
    """A long header is sorted by quality without taking long."""
    header = ",".join(f"text/x{number};q=0.{number}" for number in range(1, 900)) + ",application/yaml;q=0.001"

    assert negotiate(header).type == "application/yaml"


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
def test_pretty(path: str, agent: str, accept: str, *, pretty: bool) -> None:
    """Indented JSON is for who asks for it and for programs that humans use."""
    request = make_mocked_request("GET", path, headers={"User-Agent": agent, "Accept": accept})

    assert negotiate_output(request, RESOURCE_OFFERS).pretty is pretty


def test_watches_are_json() -> None:
    """A watch cannot be YAML, and says what it can be."""
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
def test_bodies(content_type: str, expected: str) -> None:
    """A body is JSON when nothing is said; parameters and case do not matter."""
    assert input_type(content_type, RESOURCE_OFFERS) == expected


@pytest.mark.parametrize("content_type", ["text/plain", ";;", "application/vnd.kubernetes.protobuf", "json"])
def test_unknown_bodies(content_type: str) -> None:
    """Other bodies are 415; Protobuf is one of them unless the kind has it."""
    with pytest.raises(StatusError, match="the body of the request was in an unknown format - accepted media types include: ") as caught:
        input_type(content_type, RESOURCE_OFFERS)

    assert caught.value.code == 415
    assert input_type("application/vnd.kubernetes.protobuf", RESOURCE_OFFERS, protobuf=True)
