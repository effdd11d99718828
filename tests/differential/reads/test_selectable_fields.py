"""Tests of selectable fields in lists, watches and deletecollection."""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.definition_cases import PATH, crd, version
from tests.differential.helpers.differences import compared

pytestmark = pytest.mark.slow

GROUP: Final = "fields.example.com"
ONE: Final = f"{PATH}/things.{GROUP}"
OBJECTS: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
EVERYWHERE: Final = f"/apis/{GROUP}/v1/things"
OTHER: Final = f"/apis/{GROUP}/v2/namespaces/default/things"
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIALS: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
_SPEC: Final[dict[str, Any]] = {
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
    "choice": {"type": "string", "enum": ["a", "b", ""]},
    "filled": {"type": "string", "default": "full"},
    "maybe": {"type": "string", "nullable": True},
    "deep": {"type": "object", "properties": {"er": {"type": "string"}}},
}
SCHEMA: Final = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": _SPEC}}}}
FIELDS: Final = [{"jsonPath": f".spec.{name}"} for name in ("text", "number", "flag", "choice", "filled", "maybe", "deep.er")]
SPECS: Final[dict[str, dict[str, Any]]] = {
    "none": {},
    "text": {"text": "x", "choice": "a"},
    "empty": {"text": "", "maybe": None, "choice": ""},
    "numbers": {"number": 5, "flag": True},
    "zeros": {"number": 0, "flag": False, "filled": "other"},
    "negative": {"number": -(2**53) - 1},
    "signs": {"text": "a,b=c\\d e!=f", "deep": {"er": "x"}},
}
SELECTORS: Final = (
    *(
        "spec.text=x",
        "spec.text==x",
        "spec.text!=x",
        "spec.text=",
        "spec.text!=",
        "spec.text",
        "spec.text in (x)",
        " spec.text=x",
        "spec.text=x ",
    ),
    *(
        "spec.text=a\\,b\\=c\\\\d e!\\=f",
        "spec.text=a,b",
        "spec.text=a\\",
        "spec.text=\\x",
        "spec.text=x,spec.text=x",
        "spec.text=x,spec.text!=x",
    ),
    *(
        "spec.number=5",
        "spec.number=0",
        "spec.number=05",
        "spec.number=5.0",
        "spec.number!=5",
        "spec.number=",
        "spec.number=-9007199254740993",
    ),
    *(
        "spec.flag=true",
        "spec.flag=false",
        "spec.flag=True",
        "spec.flag=",
        "spec.flag!=true",
        "spec.choice=a",
        "spec.choice=z",
        "spec.choice=",
    ),
    *("spec.filled=full", "spec.filled=other", "spec.filled!=full", "spec.maybe=", "spec.maybe=null", "spec.deep.er=x", "spec.deep.er!=x"),
    *(
        "spec.deep=x",
        "spec.none=x",
        ".spec.text=x",
        "spec['text']=x",
        "spec.text.x=y",
        "Spec.text=x",
        "status.x=1",
        "kind=Thing",
        "=",
        "!=",
        "=,spec.text=x",
        "=x",
        "a",
        ",",
    ),
    *(
        "metadata.name=text",
        "metadata.name!=text",
        "metadata.name=text,spec.text=x",
        "metadata.name=none,spec.text=x",
        "metadata.namespace=default",
    ),
    *(
        "metadata.namespace=other",
        "metadata.namespace!=default,spec.flag=true",
        "metadata.labels.a=b",
        "metadata.uid=1",
        "spec.flag=true,spec.none=1",
    ),
)


def definition(**more: Any) -> dict[str, Any]:
    """Return a definition of two versions, one of which has fewer selectable fields."""
    # Versions with equal schemas must have equal selectable fields.
    other = {"openAPIV3Schema": SCHEMA["openAPIV3Schema"] | {"description": "another"}}
    first = version("v1", schema=SCHEMA, selectableFields=FIELDS) | more
    versions = [first, version("v2", storage=False, schema=other, selectableFields=FIELDS[:1])]
    return crd("things", *versions, group=GROUP)


def thing(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return an object."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name, "labels": {"odd": name[0]}}, "spec": spec}


def created() -> Iterator[Step]:
    """Return steps that create the objects."""
    for name, spec in SPECS.items():
        yield Step("POST", OBJECTS, thing(name, spec))


def by(path: str, selector: str, more: str = "", **step: Any) -> Step:
    """Return a list request with a field selector."""
    return Step("GET", f"{path}?fieldSelector={quote(selector)}{more}", **step)


def reads() -> Iterator[Step]:
    """Return lists of every form, and refused selectors."""
    yield from created()
    for selector in SELECTORS:
        for path in (OBJECTS, EVERYWHERE, OTHER):
            yield by(path, selector)
    for form in (TABLE, PARTIALS, {"Accept": "application/yaml"}):
        yield by(OBJECTS, "spec.flag!=true", headers=form)
    for more in ("&labelSelector=odd%3Dn", "&limit=1", "&limit=2", "&resourceVersion=0"):
        yield by(OBJECTS, "spec.filled=full", more)
    for path in (OBJECTS, OTHER):
        yield by(path, "spec.none=x", "&watch=true&timeoutSeconds=1")
        yield by(path, "a", "&watch=true&timeoutSeconds=1")
    yield by(f"{OBJECTS}/text", "spec.text=y")
    yield by(f"{OBJECTS}/none/status", "spec.none=y")


def changes() -> Iterator[Step]:
    """Return deletions of collections, and changes of the selectable fields."""
    yield from created()
    for selector in ("spec.none=x", "a", "spec.text=x,metadata.name=none"):
        yield Step("DELETE", f"{OBJECTS}?fieldSelector={quote(selector)}")
    yield Step("DELETE", f"{OBJECTS}?fieldSelector=spec.flag%3Dtrue&dryRun=All")
    yield Step("DELETE", f"{OBJECTS}?fieldSelector=spec.flag%3Dtrue")
    yield Step("GET", OBJECTS)
    yield Step("PATCH", f"{OBJECTS}/text", {"spec": {"text": "y"}})
    yield by(OBJECTS, "spec.text=x")
    yield by(OBJECTS, "spec.text=y")
    yield Step("PATCH", ONE, {"spec": {"versions": definition(selectableFields=FIELDS[1:])["spec"]["versions"]}})
    yield by(OBJECTS, "spec.text=y", retry=True, until="not supported")
    yield by(OBJECTS, "spec.number=0")
    yield by(OTHER, "spec.text=y")
    yield Step("PATCH", ONE, {"spec": {"versions": definition(selectableFields=[])["spec"]["versions"]}})
    yield by(OBJECTS, "spec.number=0", retry=True, until="not supported")
    yield Step("GET", f"/openapi/v3/apis/{GROUP}/v1", retry=True)
    yield Step("GET", f"/openapi/v3/apis/{GROUP}/v2", retry=True, until="x-kubernetes-selectable-fields")
    yield Step("PATCH", ONE, {"spec": {"versions": definition()["spec"]["versions"]}})
    yield by(OBJECTS, "spec.text=y", retry=True, until='"name": "text"')
    yield Step("GET", f"/openapi/v3/apis/{GROUP}/v1", retry=True, until="spec.deep.er")
    yield Step("DELETE", f"{OTHER}?fieldSelector=spec.text%3Dy")
    yield Step("DELETE", f"{EVERYWHERE}?fieldSelector=spec.text%3Dy")
    yield Step("GET", EVERYWHERE)


@pytest.mark.parametrize("sequence", [reads, changes])
def test_selectable_fields(pair: Pair, sequence: Any) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    with pair.served(definition()):
        compared(pair, sequence())
