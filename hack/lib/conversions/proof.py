"""Proves the rules of many CRDs in process, and with kube-apiserver and the webhook beside apiext."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from apiext.operator.conversionserver.cluster_objects import STRATEGY, WEBHOOK
from apiext.resources.authoring.laws import BrokenLawError, TrialCounts
from apiext.resources.authoring.trials import PairTrial, trial_lines
from apiext.resources.conversion.rules.check.choices import RandomChoices
from hack.lib.conversions.cases import Case
from hack.lib.conversions.in_process import convert_samples
from hack.lib.conversions.journey import Journey
from hack.lib.conversions.parallel_requests import ParallelRequests
from hack.lib.conversions.round_trips import CHUNK, RoundTripCounts, RoundTrips, StoredRoundTrips
from hack.lib.conversions.stores import PREFIX, Stores
from hack.lib.conversions.webhook_remains import WebhookRemains
from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Step
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.converted_plane import CONVERSIONS, CRDS, ConvertedPlane, conversion_definition
from hack.lib.waiting import until

Json = dict[str, Any]


@dataclass(slots=True)
class ProvenPair:
    """What was found between two versions. The texts of `problems` name each broken law, difference and loss."""

    name: str
    """The CRD's."""
    first: str
    second: str
    trials: TrialCounts = field(default_factory=TrialCounts)
    """In process, in both directions."""
    stored: RoundTripCounts = field(default_factory=RoundTripCounts)
    """In both servers, in one direction; only lists are requests."""
    written: RoundTripCounts = field(default_factory=RoundTripCounts)
    """In both servers by writes, in both directions."""
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.name} {self.first} {self.second}"


def prove_in_process(case: Case, proven: ProvenPair, objects: int, seed: int) -> None:
    """Convert so many objects of each of two versions to the other one and back."""
    begun = time.monotonic()
    for source, target in ((proven.first, proven.second), (proven.second, proven.first)):
        trial = PairTrial(case.name, source, target, proven.trials)
        try:
            convert_samples(case.rules, trial, objects, seed)
        except BrokenLawError as error:
            trial.broken = error.broken
            proven.problems.append("\n".join(trial_lines(trial)))
        except AssertionError as error:
            proven.problems.append(str(error))
    proven.seconds += time.monotonic() - begun


class ServerProof:
    """kube-apiserver with the webhook, and apiext, with the CRD of Conversion objects in both."""

    def __init__(self, converted: ConvertedPlane, server: ApiextServer, cases: Sequence[Case]) -> None:
        """Compare answers about objects of some cases."""
        self._converted = converted
        self._remains = WebhookRemains(cases)
        self.pair = Pair(converted.plane, server, lambda body: masked(self._remains.removed(body)))
        self._requests = ParallelRequests(self.pair)

    def __enter__(self) -> Self:
        self.pair.ours.raw(Step("POST", CRDS, conversion_definition()))
        until(lambda: self.pair.ours.raw(Step("GET", CONVERSIONS))[0].status == 200)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._requests.close()
        self.pair.close()

    @contextmanager
    def installed(self, case: Case) -> Iterator[None]:
        """Have the CRD and its rules on both servers during the block."""
        annotations = {**(case.crd["metadata"].get("annotations") or {}), STRATEGY: WEBHOOK}
        crd = {**case.crd, "metadata": {**case.crd["metadata"], "annotations": annotations}}
        for side in (self.pair.reference, self.pair.ours):
            response, data = side.raw(Step("POST", CONVERSIONS, case.conversion))
            assert response.status == 201, data[:1000]
        try:
            with self.pair.served(crd):
                self._converted.wait_until_converted(case.name)
                self._wait_until_converting(case)
                yield
        finally:
            for side in (self.pair.reference, self.pair.ours):
                side.raw(Step("DELETE", f"{CONVERSIONS}/{case.name}"))

    def round_trips(self, case: Case, first: str, second: str, objects: int, seed: int, *, stored: bool = False) -> RoundTripCounts:
        """Let objects make a round from the first version to the second one and back, by writes or in the stores. The CRD is installed."""
        plane = self._converted.plane
        trips = (StoredRoundTrips if stored else RoundTrips)(
            self._requests, Stores(plane.etcd_url, plane.etcd_prefix, case), case, first=first, second=second, seed=seed
        )
        return trips.run(objects)

    def journeys(self, case: Case, objects: int, rng: random.Random) -> Iterator[str]:
        """Yield the problems of objects about which requests of all kinds are sent, and of lists of them. The CRD is installed."""
        found = [Journey(self.pair, case.crd, rng, name=f"n{number}", has_losses=case.has_losses) for number in range(objects)]
        for journey in found:
            yield from journey.differences()
        for version in case.crd["spec"]["versions"]:
            yield from self.pair.differences(Step("GET", case.collection(version["name"])))
        for journey in found:
            yield from journey.remove()

    def _wait_until_converting(self, case: Case) -> None:
        """Send dry runs until one of them reaches the webhook: kube-apiserver uses a change of spec.conversion a moment later."""
        version = next(version["name"] for version in case.crd["spec"]["versions"] if version["served"] and not version["storage"])
        made = next(case.made(version, 1, RandomChoices(0)))
        step = Step("POST", f"{case.collection(version)}?dryRun=All", made)

        def is_called() -> bool:
            self.pair.reference.raw(step)
            return f'crd_name="{case.name}",from_version' in self._converted.webhook.get("/metrics")[1]

        until(is_called, f"the conversion of {case.name}")


@contextmanager
def proof_servers(folder: Path, cases: Sequence[Case]) -> Iterator[ServerProof]:
    """Run both servers with one etcd during the block.

    kube-apiserver has no watch cache of the CRDs, which would convert each object once more.
    """
    sizes = ",".join(f"{case.name}#0" for case in cases)
    with (
        ConvertedPlane(folder / "reference", extra_args=[f"--watch-cache-sizes={sizes}"]) as converted,
        ApiextServer(folder / "apiext", etcd_url=converted.plane.etcd_url, etcd_prefix=PREFIX) as server,
        ServerProof(converted, server, cases) as proof,
    ):
        yield proof


def prove_in_servers(
    proof: ServerProof, case: Case, proven: Sequence[ProvenPair], numbers: tuple[int, int, int], seed: int, say: Callable[[str], None]
) -> None:
    """Add to the pairs of versions of a case what their objects find in both servers, and to the first one the problems of journeys.

    `numbers` are those of objects of each pair in the stores, of objects of each pair that are written, and of journeys.
    """
    stored, written, journeys = numbers
    with proof.installed(case):
        for pair in proven:
            begun = time.monotonic()
            # most objects come from the version that is not stored any more
            old, new = (pair.second, pair.first) if pair.first == case.storage else (pair.first, pair.second)
            _add(pair.stored, proof.round_trips(case, old, new, stored, seed, stored=True))
            for first, second, count in ((old, new, written - written // 2), (new, old, written // 2)):
                _add(pair.written, proof.round_trips(case, first, second, count, seed + 1))
            pair.problems += pair.stored.problems + pair.written.problems
            pair.seconds += time.monotonic() - begun
            counts = f"{pair.stored.objects} objects stored, {pair.written.objects} written"
            say(f"{pair}: {counts}, {len(pair.problems)} problems, {pair.seconds:.0f} s")
        rng = random.Random(f"{seed}{case.name}")  # noqa: S311 -- generates test data
        for begin in range(0, journeys, CHUNK):
            proven[0].problems += proof.journeys(case, min(CHUNK, journeys - begin), rng)


def _add(sum_: RoundTripCounts, counts: RoundTripCounts) -> None:
    for name in ("objects", "changed", "refused", "carrying", "requests"):
        setattr(sum_, name, getattr(sum_, name) + getattr(counts, name))
    sum_.problems += counts.problems
