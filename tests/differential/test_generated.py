"""Tests of real definitions with generated valid and invalid objects through all verbs."""

import json
import os
import random
import sys
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.differential.helpers.pair import Pair, Step
from tests.support.builders.crds import NO_REAL, REAL, real_crds
from tests.support.builders.generated_objects import generate, generate_resource, mutate
from tests.support.builders.seeds import seeded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.skipif(not REAL.exists(), reason=NO_REAL)]

ROUNDS: Final = int(os.environ.get("APIEXT_DIFFERENTIAL_ROUNDS", "3"))
"""Objects of each version of a definition that live from creation to deletion."""
BROKEN: Final = 6
"""Invalid objects that are sent for each valid one."""
SHARE: Final = 0.995
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIALS: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
PARTIAL: Final = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
YAML: Final = {"Accept": "application/yaml"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
OLD_TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1beta1"}
OLD_PARTIALS: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"}
SELECTORS: Final = ("odd", "!odd", "odd in (y,n)", "odd notin (p)", "odd!=n,none notin (a)", "odd=", "none", "odd==p", "a b", "odd in ()")
FIELDS: Final = ("metadata.name={name}", "metadata.name!={name}", "metadata.namespace=default", "metadata.namespace!=x", "spec.none=x", "x")
VALIDATIONS: Final = ("", "?fieldValidation=Strict", "?fieldValidation=Ignore", "?fieldValidation=Warn")


def plain(value: Any) -> Any:
    """Return whether a definition has neither CEL rules nor a conversion webhook."""
    if isinstance(value, dict):
        return {
            key: {"strategy": "None"} if key == "conversion" and isinstance(member, dict) and "strategy" in member else plain(member)
            for key, member in value.items()
            if key not in {"x-kubernetes-validations", "status"} or (key == "status" and "conditions" not in member)
        }
    return [plain(member) for member in value] if isinstance(value, list) else value


class _Requests:
    """Requests about generated objects of a version of a definition."""

    def __init__(self, crd: dict[str, Any], version: dict[str, Any], rng: random.Random) -> None:
        spec = crd["spec"]
        self._rng = rng
        self._schema = version["schema"]["openAPIV3Schema"]
        self._api_version = f"{spec['group']}/{version['name']}"
        self._kind = spec["names"]["kind"]
        self._subresources = version.get("subresources") or {}
        where = "" if spec["scope"] == "Cluster" else "namespaces/default/"
        self.path = f"/apis/{self._api_version}/{where}{spec['names']['plural']}"
        self._fields = [field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ()]

    def object(self) -> dict[str, Any]:
        """Return an object that is most likely valid."""
        made = generate_resource(self._schema, self._rng, api_version=self._api_version, kind=self._kind)
        made["metadata"]["labels"] = {"odd": self._rng.choice("yn")}
        return made

    def broken(self) -> Iterator[Step]:
        """Yield create and replace requests with invalid objects."""
        for _ in range(BROKEN * ROUNDS):
            made = self.object()
            for _ in range(self._rng.randint(1, 3)):
                made = mutate(made, self._schema, self._rng)
            query = self._rng.choice(VALIDATIONS)
            yield Step("POST", f"{self.path}{query}{'&' if query else '?'}dryRun=All", made)

    def life(self) -> Iterator[Step]:
        """Yield the requests from the creation of an object to its deletion."""
        made, rng = self.object(), self._rng
        one = f"{self.path}/{made['metadata']['name']}"
        yield Step("POST", self.path, made)
        yield Step("GET", one, headers=rng.choice(({}, TABLE, YAML, PARTIAL)))
        other = self.object() | {"metadata": made["metadata"] | {"resourceVersion": f"{{rv:{one}}}"}}
        yield Step("PUT", one, other)
        yield Step("PUT", one, mutate(other, self._schema, rng))
        yield from self._trials(one, other)
        for section in ("spec", "status"):
            schema = self._schema.get("properties", {}).get(section)
            if schema:
                tail = "/status" if section == "status" and "status" in self._subresources else ""
                yield Step("PATCH", one + tail, {section: generate(schema, rng)})
                yield Step("PATCH", one + tail, {section: mutate(generate(schema, rng), schema, rng)})
        yield Step("PATCH", one, self._json_patch(), JSON_PATCH)
        yield Step("PATCH", one, {"metadata": {"labels": {"odd": "p"}, "annotations": {"a": "b"}}})
        yield from self._subresource_requests(one)
        yield from self._lists(made["metadata"]["name"])
        yield Step("DELETE", f"{one}?dryRun=All")
        yield Step("DELETE", one, rng.choice((None, {"propagationPolicy": "Background"}, {"dryRun": ["All"]})))
        yield Step("GET", one)

    def _trials(self, one: str, other: dict[str, Any]) -> Iterator[Step]:
        """Yield replacements and patches that change nothing, and invalid ones."""
        rng = self._rng
        for body in (other, mutate(other, self._schema, rng), {**other, "none": 1}):
            yield Step("PUT", f"{one}{self._validation()}", body)
            changed = [(key, body[key]) for key in ("spec", "status", "none") if isinstance(body, dict) and key in body]
            yield Step("PATCH", f"{one}{self._validation()}", dict(changed))
        yield Step("PATCH", f"{one}{self._validation()}", self._json_patch(), JSON_PATCH)
        yield Step("PUT", f"{one}/status{self._validation()}", mutate(other, self._schema, rng))

    def _validation(self) -> str:
        query = self._rng.choice(VALIDATIONS)
        return f"{query}{'&' if query else '?'}dryRun=All"

    def _json_patch(self) -> list[dict[str, Any]]:
        paths = ["/spec", "/metadata/labels/odd", "/status", "/spec/none", "/metadata/labels/new"]
        operation, path = self._rng.choice(("add", "replace", "remove", "test")), self._rng.choice(paths)
        return [{"op": operation, "path": path, **({} if operation == "remove" else {"value": self._rng.choice(("x", {}, 1))})}]

    def _subresource_requests(self, one: str) -> Iterator[Step]:
        yield Step("GET", f"{one}/status")
        yield Step("GET", f"{one}/scale")
        if "scale" in self._subresources:
            yield Step("PATCH", f"{one}/scale", {"spec": {"replicas": self._rng.choice((0, 3, -1))}})

    def _lists(self, name: str) -> Iterator[Step]:
        rng = self._rng
        yield Step("GET", self.path, headers=rng.choice((TABLE, OLD_TABLE)))
        yield Step("GET", f"{self.path}?limit={rng.randint(0, 2)}", headers=rng.choice(({}, PARTIALS, OLD_PARTIALS, YAML)))
        yield Step("GET", f"{self.path}?labelSelector=odd%3D{rng.choice('ynp')}")
        labels = f"labelSelector={quote(rng.choice(SELECTORS))}"
        selectors = (*FIELDS, *(f"{field}{sign}{rng.choice(('', 'x', 'true', '1'))}" for field in self._fields for sign in ("=", "!=")))
        fields = f"fieldSelector={quote(rng.choice(selectors).format(name=name))}"
        for query in (labels, fields, f"{labels}&{fields}"):
            yield Step("GET", f"{self.path}?{query}", headers=rng.choice(({}, {}, TABLE, PARTIALS)))
        yield Step("DELETE", f"{self.path}?{rng.choice((labels, fields))}&dryRun=All")


def _differences(pair: Pair, crd: dict[str, Any]) -> tuple[int, list[str]]:
    """Return the number of compared requests about the definition, and the differences."""
    rng = seeded(crd["metadata"]["name"])
    count = 0
    found: list[str] = []
    for version in (version for version in crd["spec"]["versions"] if version["served"]):
        requests = _Requests(crd, version, rng)
        # Fields that another version prunes make the object invalid, which only ratcheting would accept.
        rounds = ROUNDS if version["storage"] else 0
        steps = [*requests.broken(), *(step for _ in range(rounds) for step in requests.life())]
        for step in [*steps, Step("DELETE", requests.path)]:
            count += 1
            lines = pair.differences(step)
            found += ["\n".join(lines)[:4000]] if lines else []
    return count, found


def test_generated(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    """Return equal responses to nearly all of thousands of requests with generated objects."""
    count = 0
    found: list[str] = []
    crds = [plain(crd) for crd in real_crds()]
    with pair.served(*crds):
        for crd in crds:
            here, lines = _differences(pair, crd)
            count, found = count + here, found + lines
    share = 1 - len(found) / count
    with capsys.disabled():
        sys.stdout.write("\n".join(["", f"{count} comparisons, {share:.2%} equal", *found, ""]))

    assert share >= SHARE, json.dumps({"compared": count, "different": len(found)})
