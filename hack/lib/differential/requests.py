"""Requests about generated objects of a version of a definition, in every verb."""

import random
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote

from hack.lib.differential.generated_objects import MAX_DEPTH, generate, generate_resource, mutate
from hack.lib.differential.pair import Step

TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
PARTIALS: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
PARTIAL: Final = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
YAML: Final = {"Accept": "application/yaml"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
OLD_TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1beta1"}
OLD_PARTIALS: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"}
SELECTORS: Final = ("odd", "!odd", "odd in (y,n)", "odd notin (p)", "odd!=n,none notin (a)", "odd=", "none", "odd==p", "a b", "odd in ()")
FIELDS: Final = ("metadata.name={name}", "metadata.name!={name}", "metadata.namespace=default", "metadata.namespace!=x", "spec.none=x", "x")
VALIDATIONS: Final = ("", "?fieldValidation=Strict", "?fieldValidation=Ignore", "?fieldValidation=Warn")
_DEPTHS: Final = (0, MAX_DEPTH - 1, MAX_DEPTH)
"""Start depths of generated objects: the deeper, the fewer optional fields."""
_ATTEMPTS: Final = 12

Accepts = Callable[[Step], bool]


class ObjectRequests:
    """Requests about the objects of one version of a definition, from a given Random."""

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

    def object(self, depth: int = 0) -> dict[str, Any]:
        """Return an object that is most likely valid; rules may refuse it."""
        made = generate_resource(self._schema, self._rng, api_version=self._api_version, kind=self._kind, depth=depth)
        made["metadata"]["labels"] = {"odd": self._rng.choice("yn")}
        return made

    def accepted(self, accepts: Accepts | None) -> dict[str, Any]:
        """Return an object whose creation a server accepts, or the last tried one; without a server, the first one."""
        made = self.object()
        for attempt in range(_ATTEMPTS if accepts else 0):
            if accepts and accepts(Step("POST", f"{self.path}?dryRun=All", made)):
                break
            made = self.object(_DEPTHS[attempt % len(_DEPTHS)])
        return made

    def broken(self, count: int) -> Iterator[Step]:
        """Yield create requests with invalid objects."""
        for _ in range(count):
            made = self.object()
            for _ in range(self._rng.randint(1, 3)):
                made = mutate(made, self._schema, self._rng)
            yield Step("POST", f"{self.path}{self._validation()}", made)

    def life(self, accepts: Accepts | None = None, *, applies: bool = False) -> Iterator[Step]:
        """Yield the requests from the creation of an object to its deletion."""
        made, rng = self.accepted(accepts), self._rng
        one = f"{self.path}/{made['metadata']['name']}"
        yield Step("POST", self.path, made)
        yield Step("GET", one, headers=rng.choice(({}, TABLE, YAML, PARTIAL)))
        other = self.accepted(accepts) | {"metadata": made["metadata"] | {"resourceVersion": f"{{rv:{one}}}"}}
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
        if applies:
            yield from self._applies(one, made, other)
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

    def _applies(self, one: str, made: dict[str, Any], other: dict[str, Any]) -> Iterator[Step]:
        """Yield apply patches of two managers: of the same fields, with a conflict, of fewer fields, of a new and of invalid objects."""
        rng, status = self._rng, {"status": self._schema.get("properties", {}).get("status", {})}
        mine, yours = (self._configuration(source, made["metadata"]["name"]) for source in (made, other))
        few = {key: mine[key] for key in ("apiVersion", "kind", "metadata")}
        yield Step("PATCH", f"{one}?fieldManager=one&force=true", mine, APPLY)
        yield Step("PATCH", f"{one}?fieldManager=one", mine, APPLY)
        yield Step("PATCH", f"{one}?fieldManager=two", yours, APPLY)
        yield Step("PATCH", f"{one}?fieldManager=two&force=true", yours, APPLY)
        yield Step("PATCH", f"{one}?fieldManager=one{self._validation().replace('?', '&')}", mutate(mine, self._schema, rng), APPLY)
        yield Step("PATCH", f"{one}?fieldManager=one", few, APPLY)
        yield Step("PATCH", f"{one}/status?fieldManager=three", few | {key: generate(schema, rng) for key, schema in status.items()}, APPLY)
        yield Step("PATCH", f"{self.path}/new?fieldManager=one", mine | {"metadata": {"name": "new"}}, APPLY)
        yield Step("GET", f"{self.path}/new")
        yield Step("DELETE", f"{self.path}/new")

    @staticmethod
    def _configuration(source: dict[str, Any], name: str) -> dict[str, Any]:
        return {**source, "metadata": {"name": name, "labels": source["metadata"]["labels"]}}

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
