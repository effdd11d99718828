"""Sends the journeys of many objects of many CRDs to kube-apiserver with the webhook, and to apiext."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from apiext.conversionserver.cluster_objects import STRATEGY, WEBHOOK
from hack.lib.conversions.gadgets import gadget_crd, gadget_rules
from hack.lib.conversions.journey import Journey
from hack.lib.differential.pair import Pair, Step
from hack.lib.real_crds import real_crds
from hack.lib.servers.converted_plane import CONVERSIONS, CRDS, ConvertedPlane, conversion_definition
from hack.lib.waiting import until

BATCH: Final = 50
"""Objects that are there at the same time."""
Json = dict[str, Any]


def define_conversions(pair: Pair) -> None:
    """Create the CRD of Conversion objects in apiext, and wait until it is served."""
    pair.ours.raw(Step("POST", CRDS, conversion_definition()))
    until(lambda: pair.ours.raw(Step("GET", CONVERSIONS))[0].status == 200)


@dataclass(frozen=True, slots=True)
class Case:
    """A CRD with several versions, and its Conversion object."""

    crd: Json
    conversion: Json

    @property
    def name(self) -> str:
        """Return the name of both."""
        return str(self.crd["metadata"]["name"])

    @property
    def has_losses(self) -> bool:
        """Return whether rules drop fields on purpose."""
        return '"drop":' in json.dumps(self.conversion["spec"])


@dataclass(slots=True)
class ProofOutcome:
    """What the journeys found."""

    objects: int = 0
    requests: int = 0
    problems: list[str] = field(default_factory=list)
    """A text for each request with different answers, and for each loss."""


def gadget_case() -> Case:
    """Return the case without a file."""
    return Case(gadget_crd("prove.example.com"), gadget_rules("prove.example.com"))


def read_cases(paths: Sequence[Path]) -> list[Case]:
    """Return the cases of YAML files, or of all files of folders: each Conversion object with the CRD of its name, there or a real one."""
    files = [file for path in paths for file in (sorted(path.rglob("*.y*ml")) if path.is_dir() else [path])]
    documents = [found for file in files for found in yaml.safe_load_all(file.read_text()) if isinstance(found, dict)]
    written = [found for found in documents if found.get("kind") == "CustomResourceDefinition"]
    crds = {found["metadata"]["name"]: _served(found) for found in [*real_crds(), *written]}
    conversions = {found["metadata"]["name"]: found for found in documents if found.get("kind") == "Conversion"}
    return [Case(crds[name], conversion) for name, conversion in conversions.items() if name in crds]


def _served(crd: Json) -> Json:
    """Return a CRD that serves all of its versions, without a webhook of its own."""
    versions = [{**version, "served": True} for version in crd["spec"]["versions"]]
    return {**crd, "spec": {**crd["spec"], "versions": versions, "conversion": {"strategy": "None"}}}


def prove(
    converted: ConvertedPlane, pair: Pair, cases: Sequence[Case], objects: int, seed: str, say: Callable[[str], None] = lambda _: None
) -> ProofOutcome:
    """Return what the journeys of so many objects of each case find. Both servers have the CRD of Conversion objects."""
    outcome = ProofOutcome()
    for case in cases:
        with installed(converted, pair, case):
            rng = random.Random(f"{seed}{case.name}")  # noqa: S311 -- generates test data
            for begin in range(0, objects, BATCH):
                outcome.problems += _batch(pair, case, rng, range(begin, min(begin + BATCH, objects)))
        outcome.objects += objects
        say(f"{case.name}: {objects} objects, {len(outcome.problems)} problems so far")
    outcome.requests = pair.compared
    return outcome


def _batch(pair: Pair, case: Case, rng: random.Random, numbers: range) -> Iterator[str]:
    """Yield the problems of some objects, and of the lists of them in each version."""
    journeys = [Journey(pair, case.crd, rng, name=f"n{number}", has_losses=case.has_losses) for number in numbers]
    for journey in journeys:
        yield from journey.differences()
    spec = case.crd["spec"]
    for version in (version["name"] for version in spec["versions"] if version["served"]):
        yield from pair.differences(Step("GET", f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"))
    for journey in journeys:
        yield from journey.remove()


@contextmanager
def installed(converted: ConvertedPlane, pair: Pair, case: Case) -> Iterator[None]:
    """Have the CRD and its rules on both servers during the block."""
    annotations = {**(case.crd["metadata"].get("annotations") or {}), STRATEGY: WEBHOOK}
    crd = {**case.crd, "metadata": {**case.crd["metadata"], "annotations": annotations}}
    for side in (pair.reference, pair.ours):
        response, data = side.raw(Step("POST", CONVERSIONS, case.conversion))
        assert response.status == 201, data[:1000]
    try:
        with pair.served(crd):
            converted.wait_until_converted(case.name)
            _wait_until_converting(converted, pair, case)
            yield
    finally:
        for side in (pair.reference, pair.ours):
            side.raw(Step("DELETE", f"{CONVERSIONS}/{case.name}"))


def _wait_until_converting(converted: ConvertedPlane, pair: Pair, case: Case) -> None:
    """Send dry runs until one of them reaches the webhook: kube-apiserver uses a change of spec.conversion a moment later."""
    spec = case.crd["spec"]
    version = next(version["name"] for version in spec["versions"] if version["served"] and not version["storage"])
    where = "" if spec["scope"] == "Cluster" else "namespaces/default/"
    made = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"], "metadata": {"name": "first"}}
    step = Step("POST", f"/apis/{made['apiVersion']}/{where}{spec['names']['plural']}?dryRun=All", made)

    def is_called() -> bool:
        pair.reference.raw(step)
        return f'crd_name="{case.name}",from_version' in converted.webhook.get("/metrics")[1]

    until(is_called, f"the conversion of {case.name}")
