"""The requests about one object that moves between two versions, sent to kube-apiserver with the webhook and to apiext."""

import json
import random
from collections.abc import Iterator
from typing import Any

from hack.lib.differential.pair import Pair, Step
from hack.lib.differential.requests import APPLY, ObjectRequests

Json = dict[str, Any]


class Journey:
    """One object, generated in a version, read and changed in another one, and read in the first one again."""

    def __init__(self, pair: Pair, crd: Json, rng: random.Random, *, name: str, has_losses: bool) -> None:
        """Create the journey. `has_losses` says whether rules drop fields on purpose: these are gone after the first round."""
        self._pair = pair
        self._rng = rng
        self._name = name
        self._has_losses = has_losses
        served = [version for version in crd["spec"]["versions"] if version["served"]]
        first, second = rng.sample(served, 2)
        self._first, self._second = (ObjectRequests(crd, version, rng) for version in (first, second))

    def differences(self) -> Iterator[str]:
        """Send all requests; yield a text for each one whose answers differ, and for what is lost."""
        first, second = f"{self._first.path}/{self._name}", f"{self._second.path}/{self._name}"
        found = self._pair.differences(Step("POST", self._first.path, self._named(self._first.object())))
        if self._read(first) is None:
            # both servers find it invalid; where rules cannot convert it, kube-apiserver names the webhook
            yield from (text for text in found if ".message = " not in text)
            return
        yield from found
        if self._has_losses:
            yield from self._touched(second, "settled")
        yield from self._unchanged_by_a_round(first, second)
        content = self._read(second) or {}
        changed = self._changed(self._second.object(), content)
        yield from self._pair.differences(Step("PUT", second, changed))
        yield from self._pair.differences(Step("GET", first))
        patch = {name: value for name, value in self._first.object().items() if name not in {"apiVersion", "kind", "metadata"}}
        yield from self._pair.differences(Step("PATCH", first, patch))
        yield from self._pair.differences(Step("GET", second))
        applied = self._named(self._second.object())
        yield from self._pair.differences(Step("PATCH", f"{second}?fieldManager=applier&force=true", applied, APPLY))
        yield from self._pair.differences(Step("GET", first))
        yield from self._unchanged_by_a_round(first, second)

    def remove(self) -> Iterator[str]:
        """Delete the object."""
        yield from self._pair.differences(Step("DELETE", f"{self._first.path}/{self._name}"))

    def _unchanged_by_a_round(self, first: str, second: str) -> Iterator[str]:
        """Yield a text if an object is another one in the first version after a write in the second one that changes no field."""
        before = self._read(first)
        yield from self._touched(second, str(self._rng.random()))
        after = self._read(first)
        if _content(before) != _content(after):
            yield f"{first} loses in a round:\n    before: {json.dumps(_content(before))}\n    after:  {json.dumps(_content(after))}"
        yield from self._pair.differences(Step("GET", first))

    def _touched(self, path: str, label: str) -> Iterator[str]:
        """Write an object as a client that reads it whole, changes a label, and puts it back."""
        found = self._read(path) or {}
        labels = (found.get("metadata") or {}).get("labels") or {}
        yield from self._pair.differences(
            Step("PUT", path, self._changed({**found, "metadata": {"labels": {**labels, "l": label}}}, found))
        )

    def _changed(self, content: Json, found: Json) -> Json:
        """Return an object with other content, and the annotations and version of the one that was read."""
        metadata = {**content["metadata"], "name": self._name, "resourceVersion": f"{{rv:{self._first.path}/{self._name}}}"}
        annotations = (found.get("metadata") or {}).get("annotations")
        return {**content, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}

    def _named(self, made: Json) -> Json:
        return {**made, "metadata": {**made["metadata"], "name": self._name}}

    def _read(self, path: str) -> Json | None:
        """Return the object as kube-apiserver has it, None if it has none."""
        response, data = self._pair.reference.raw(Step("GET", path))
        return json.loads(data) if response.status == 200 else None


def _content(found: Json | None) -> Json:
    return {name: value for name, value in (found or {}).items() if name != "metadata"}
