"""Builds the requests of sequences about definitions."""

import copy
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.cases.definition_cases import DOMAIN, PATH, Crd

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
    """Return a create request."""
    return Step("POST", PATH + query, body, headers)


def eventually(path: str, until: str = "") -> Step:
    """Return a GET that waits for the controllers."""
    return Step("GET", path, retry=True, until=until)


def established(path: str = ONE) -> Step:
    """Return a GET that waits until the names are accepted."""
    return eventually(path, "InitialNamesAccepted")


def accepted(short: str, path: str = ONE) -> Step:
    """Return a GET that waits until a short name is accepted."""
    return eventually(path, f'"plural": "things", "shortNames": ["{short}"]')


def gone(path: str = ONE) -> Step:
    """Return a GET that waits until the object is deleted."""
    return eventually(path, "not found")


def put(changed: Crd, path: str = ONE) -> Step:
    """Return a PUT with the current resourceVersion of the server."""
    body = copy.deepcopy(changed)
    body["metadata"]["resourceVersion"] = "{rv:" + ONE + "}"
    return Step("PUT", path, body)


def patch(body: Any, kind: dict[str, str] = MERGE, path: str = ONE) -> Step:
    """Return a PATCH, by default of the first definition."""
    return Step("PATCH", path, body, kind)


def thing(name: str = "a", group: str = DOMAIN, apiversion: str = "v1", **more: Any) -> dict[str, Any]:
    """Return an object of the first definition."""
    return {"apiVersion": f"{group}/{apiversion}", "kind": "Thing", "metadata": {"name": name} | more}


def names_of(**more: Any) -> dict[str, Any]:
    """Return the names of the first definition, some of them replaced."""
    return {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"} | more


STRUCTURED: Final = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
