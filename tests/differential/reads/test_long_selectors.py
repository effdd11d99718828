"""Tests of long queries: selectors of many requirements, and queries of many parameters."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.definition_cases import crd, version

pytestmark = pytest.mark.slow

GROUP: Final = "selected.example.com"
OBJECTS: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
TEXT: Final = {"type": "object", "properties": {"text": {"type": "string"}}}
SCHEMA: Final = {"openAPIV3Schema": {"type": "object", "properties": {"spec": TEXT}}}
LABELS: Final[dict[str, dict[str, str]]] = {
    "none": {},
    "one": {"a": "1"},
    "two": {"a": "2", "b": "x"},
    "huge": {"a": "9223372036854775807", "b": ""},
    "zeros": {"a": "007", "c": "-3"},
}
LABEL_SELECTORS: Final = {
    "absent": ",".join(f"!k{number}" for number in range(1500)),
    "absent, one present": ",".join(f"!{key}" for key in ("b", *(f"k{number}" for number in range(1500)))),
    "values": f"a in ({','.join(map(str, range(8000)))})",
    "excluded values": f"a notin ({','.join(map(str, range(8000)))})",
    "unequal": ",".join(f"a!={number}" for number in range(5000)),
    "contradictory": "a=1,a=2",
    "absent and present": "a,!a",
    "intersection": "a in (1,2,3),a in (2,3,007),a!=3",
    "bounds": "a>0,a>1,a<9,a<8",
    "greatest": "a>9223372036854775806",
    "beyond": "a>9223372036854775808",
    "zeros": f"a>{'0' * 60}6",
    "too many zeros": f"a>{'0' * 70}6",
    "too many digits": f"a<{'9' * 5000}",
    "present": ",".join(["a"] * 5000),
}
FIELD_SELECTORS: Final = {
    "unequal": ",".join(f"spec.text!={number}" for number in range(3000)),
    "equal": ",".join(["spec.text=one"] * 3000),
    "contradictory": "spec.text=one,spec.text=two",
    "both": "spec.text=one,spec.text!=one",
    "unknown": ",".join(f"b{number}=1" for number in range(3000)),
    "names": ",".join(["metadata.name=one"] * 3000),
    "two names": "metadata.name=two,metadata.name=one",
}


@pytest.fixture(scope="module")
def things(pair: Pair) -> Iterator[Pair]:
    """Create labelled objects on both servers."""
    with pair.served(crd("things", version(schema=SCHEMA, selectableFields=[{"jsonPath": ".spec.text"}]), group=GROUP)):
        for name, labels in LABELS.items():
            obj = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name, "labels": labels}, "spec": {"text": name}}
            for side in (pair.reference, pair.ours):
                side.raw(Step("POST", OBJECTS, obj))
        yield pair


@pytest.mark.parametrize("name", LABEL_SELECTORS)
def test_label_selectors(things: Pair, name: str) -> None:
    """Return equal lists and errors for label selectors of many requirements."""
    for tail in ("", "&limit=2"):
        assert things.differences(Step("GET", f"{OBJECTS}?labelSelector={quote(LABEL_SELECTORS[name], safe=',=')}{tail}")) == []


@pytest.mark.parametrize("name", FIELD_SELECTORS)
def test_field_selectors(things: Pair, name: str) -> None:
    """Return equal lists and errors for field selectors of many terms."""
    assert things.differences(Step("GET", f"{OBJECTS}?fieldSelector={quote(FIELD_SELECTORS[name], safe=',=')}")) == []


@pytest.mark.parametrize("count", [9_998, 10_000])
def test_parameters(things: Pair, count: int) -> None:
    """Ignore all parameters of a query that has more than ten thousand."""
    assert things.differences(Step("GET", f"{OBJECTS}?labelSelector=a%3D1{'&b' * count}&limit=1")) == []
