"""Requests of which sequences about definitions are made."""

import copy
from typing import Any, Final

from tests.differential.cases.definition_cases import DOMAIN, PATH, Crd
from tests.differential.helpers.pair import Step

MERGE: Final = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
STRATEGIC: Final = {"Content-Type": "application/strategic-merge-patch+json"}
YAML: Final = {"Content-Type": "application/yaml"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIAL: Final = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIALS: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}

ONE: Final = f"{PATH}/things.{DOMAIN}"
OBJECTS: Final = f"/apis/{DOMAIN}/v1/namespaces/default/things"


def post(body: Any, query: str = "", **headers: str) -> Step:
    """A creation."""
    return Step("POST", PATH + query, body, headers)


def settled(path: str, until: str = "") -> Step:
    """A read that waits for the controllers."""
    return Step("GET", path, settles=True, until=until)


def established(path: str = ONE) -> Step:
    """A read that waits until the names are accepted."""
    return settled(path, "InitialNamesAccepted")


def accepted(short: str, path: str = ONE) -> Step:
    """A read that waits until a short name is accepted."""
    return settled(path, f'"plural": "things", "shortNames": ["{short}"]')


def gone(path: str = ONE) -> Step:
    """A read that waits until nothing is there."""
    return settled(path, "not found")


def put(changed: Crd, path: str = ONE) -> Step:
    """A replacement that bears the revision which the server has."""
    body = copy.deepcopy(changed)
    body["metadata"]["resourceVersion"] = "{rv:" + ONE + "}"
    return Step("PUT", path, body)


def patch(body: Any, kind: dict[str, str] = MERGE, path: str = ONE) -> Step:
    """A patch, of the first definition unless told otherwise."""
    return Step("PATCH", path, body, kind)


def thing(name: str = "a", group: str = DOMAIN, apiversion: str = "v1", **more: Any) -> dict[str, Any]:
    """An object of the first definition."""
    return {"apiVersion": f"{group}/{apiversion}", "kind": "Thing", "metadata": {"name": name} | more}


def names_of(**more: Any) -> dict[str, Any]:
    """The names of the first definition, some replaced."""
    return {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"} | more


STRUCTURED: Final = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
