"""Many objects that make a round between two versions, compared by lists: few requests for each."""

import json
import random
from collections.abc import Iterator
from typing import Any

from hack.lib.differential.pair import Pair, Step
from hack.lib.differential.requests import ObjectRequests

Json = dict[str, Any]


class RoundTrips:
    """Objects that are created in one version, changed in the other one or only labelled there, and read in both."""

    def __init__(self, pair: Pair, crd: Json, rng: random.Random, *, first: str, second: str) -> None:
        self._pair = pair
        versions = {version["name"]: version for version in crd["spec"]["versions"]}
        self._first, self._second = (ObjectRequests(crd, versions[name], rng) for name in (first, second))

    def problems(self, count: int, *, prefix: str) -> Iterator[str]:
        """Send the requests about so many objects; yield a text for each one whose answers differ, and for each loss."""
        names = [f"{prefix}-{number}" for number in range(count)]
        for name in names:
            made = self._first.object()
            yield from self._pair.differences(Step("POST", self._first.path, {**made, "metadata": {**made["metadata"], "name": name}}))
        before = self._listed()
        for name in names[::2]:
            yield from self._patched(name, {})
        for name in names[1::2]:
            made = self._second.object()
            yield from self._patched(name, {member: made[member] for member in made.keys() - {"apiVersion", "kind", "metadata"}})
        yield from self._pair.differences(Step("GET", self._first.path))
        yield from self._pair.differences(Step("GET", self._second.path))
        after = self._listed()
        for name in names[::2]:
            if before.get(name) != after.get(name):
                yield f"{name} loses in a round:\n    before: {json.dumps(before.get(name))}\n    after:  {json.dumps(after.get(name))}"

    def _patched(self, name: str, content: Json) -> Iterator[str]:
        yield from self._pair.differences(Step("PATCH", f"{self._second.path}/{name}", {"metadata": {"labels": {"round": "1"}}, **content}))

    def _listed(self) -> dict[str, Json]:
        """Return the content of all objects of kube-apiserver in the first version, by name."""
        response, data = self._pair.reference.raw(Step("GET", self._first.path))
        assert response.status == 200, data[:1000]
        found = json.loads(data)["items"]
        return {one["metadata"]["name"]: {member: value for member, value in one.items() if member != "metadata"} for one in found}
