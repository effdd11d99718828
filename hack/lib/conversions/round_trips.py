"""Many objects that make a round between two versions in both servers, with a write in each and lists of all."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from apiext.base.meta.encoding import json_codec, json_values
from apiext.resources.authoring.laws import Laws, changed_object
from apiext.resources.conversion.rules.carried import annotation
from apiext.resources.conversion.rules.check.choices import RandomChoices
from apiext.resources.conversion.rules.model import CARRIED
from hack.lib.conversions.cases import Case
from hack.lib.conversions.parallel_requests import JointRequest, ParallelRequests, Reply
from hack.lib.conversions.stores import Stores
from hack.lib.conversions.webhook_remains import WebhookRemains

CHUNK: Final = 500
"""Objects that are there at the same time."""
_PAGE: Final = 200
_ATTEMPTS: Final = 5
"""Tries to make a chunk of objects, for each chunk that is wanted: some are refused."""
_VOLATILE: Final = ("uid", "resourceVersion", "creationTimestamp")
_TEXTS: Final = ("labels", "annotations")
Json = dict[str, Any]


@dataclass(slots=True)
class RoundTripCounts:
    """What the objects of one pair of versions have seen."""

    objects: int = 0
    """Objects that made the round."""
    changed: int = 0
    """Those with a changed field in between; of the others, a label was changed."""
    refused: int = 0
    """Writes that both servers refuse."""
    carrying: int = 0
    """Objects with the annotation in the other version."""
    requests: int = 0
    problems: list[str] = field(default_factory=list)
    """A text for each request with different answers, and for each loss."""


@dataclass(slots=True)
class Traveller:
    """One object in kube-apiserver."""

    before: Json
    """In the first version, as it was created."""
    there: Json = field(default_factory=dict)
    """In the second version."""
    identities: tuple[Json, Json] = ({}, {})
    """uid and resourceVersion in both servers."""
    written: Json = field(default_factory=dict)
    """In the second version, as it is written there; empty if it is not."""
    is_changed: bool = False
    """Whether a field other than a label was changed."""


class RoundTrips:
    """Objects that are created in one version, changed in the other one or only labelled there, and read in both."""

    def __init__(self, requests: ParallelRequests, stores: Stores, case: Case, *, first: str, second: str, seed: int) -> None:
        """Create the trips of generated objects of the first version."""
        self._requests = requests
        self._laws = Laws(case.rules, first, second)
        self._rules = case.rules
        self._remains = WebhookRemains([case])
        self._first, self._second = first, second
        self._paths = {version: case.collection(version) for version in (first, second)}
        self._choices = RandomChoices(seed)
        self._case = case
        self._stores = stores
        self.counts = RoundTripCounts()

    def run(self, count: int) -> RoundTripCounts:
        """Send the requests about so many objects, and return what they have seen."""
        for _ in range(_ATTEMPTS * (count // CHUNK + 1)):
            missing = count - self.counts.objects
            if missing <= 0:
                break
            travellers = self._created(min(CHUNK, missing))
            self._read(travellers)
            self._write(travellers)
            self._return(travellers)
            self._stores.clear()
        else:
            self.counts.problems.append(f"only {self.counts.objects} valid objects of {self._paths[self._first]} were found")
        return self.counts

    def _created(self, count: int) -> dict[str, Traveller]:
        """Create objects in the first version, and return those that are valid by name."""
        requests = []
        for one in self._case.made(self._first, count, self._choices):
            data = json_codec.dumps(one)
            requests.append(JointRequest("POST", self._paths[self._first], (data, data)))
        found = {one["metadata"]["name"]: Traveller(one) for one, _ in self._answers(requests)}
        self.counts.objects += len(found)
        return found

    def _read(self, travellers: dict[str, Traveller]) -> None:
        """List all objects in the second version."""
        for theirs, identities in self._listed(self._second):
            one = travellers[theirs["metadata"]["name"]]
            one.there, one.identities = theirs, identities
            self.counts.carrying += annotation.of(theirs["metadata"]) is not None

    def _write(self, travellers: dict[str, Traveller]) -> None:
        """Put all objects back in the second version, as a client that reads and writes them whole."""
        requests = []
        for number, one in enumerate(travellers.values()):
            body = self._changed(one, number)
            data = [json_codec.dumps(body | {"metadata": body["metadata"] | identity}) for identity in one.identities]
            requests.append(JointRequest("PUT", f"{self._paths[self._second]}/{body['metadata']['name']}", (data[0], data[1])))
            one.written = body
        accepted = {theirs["metadata"]["name"]: theirs for theirs, _ in self._answers(requests)}
        for name, one in travellers.items():
            found = accepted.get(name)
            if found is None:
                one.written, one.is_changed = {}, False
                continue
            self._require_equal("the change does not arrive", (self._first, self._second), self._rules.decoded(one.written), found)
            one.written = found
            self.counts.changed += one.is_changed

    def _changed(self, one: Traveller, number: int) -> Json:
        """Return an object in the second version with another value of a field, or of a label, and without managed fields."""
        changed = changed_object(one.there, self._rules.schemas[self._second], number) if number % 2 else None
        one.is_changed = changed is not None
        body = changed[0] if changed else json_values.copy(one.there)
        if not changed:
            body["metadata"].setdefault("labels", {})["round"] = "1"
        body["metadata"].pop("managedFields", None)
        return body

    def _return(self, travellers: dict[str, Traveller]) -> None:
        """List all objects in the first version again, and compare them with what must have become of them."""
        way = (self._second, self._first)
        for theirs, _ in self._listed(self._first):
            one = travellers.pop(theirs["metadata"]["name"])
            expected = self._laws.expected_return(one.there, one.written, one.before, theirs) if one.written else one.before
            self._require_equal("a round loses", way, expected, theirs)
        self.counts.problems += [f"{self._paths[self._first]}/{name} is gone" for name in travellers]

    def _require_equal(self, text: str, way: tuple[str, ...], expected: Json, actual: Json) -> None:
        wanted, found = map(_compared, (expected, actual))
        if differing := self._laws.difference(way, wanted, found):
            shown = [json_codec.dumps(one).decode() for one in differing]
            self.counts.problems.append(f"{self._paths[self._first]}: {text}:\n    expected: {shown[0]}\n    actual:   {shown[1]}")

    def _listed(self, version: str) -> Iterator[tuple[Json, tuple[Json, Json]]]:
        """Yield the objects of a version as kube-apiserver has them, with their identities in both servers."""
        tokens = ("", "")
        while True:
            paths = [f"{self._paths[version]}?limit={_PAGE}{f'&continue={quote(token)}' if token else ''}" for token in tokens]
            pages = [json_codec.loads(data) for _, data in self._requests.reply_to_each("GET", *paths)]
            for theirs, ours in zip(*(page["items"] for page in pages), strict=True):
                identities = _identity(theirs), _identity(ours)
                self._compare(f"GET {self._paths[version]}", theirs, ours)
                yield theirs, identities
            self.counts.requests += 1
            tokens = tuple(page["metadata"].get("continue", "") for page in pages)
            if not any(tokens):
                return

    def _answers(self, requests: list[JointRequest]) -> Iterator[tuple[Json, Json]]:
        """Yield the objects in the replies to writes that both servers accept."""
        for request, replies in zip(requests, self._requests.replies(requests), strict=True):
            self.counts.requests += 1
            codes = [code for code, _ in replies]
            if codes[0] != codes[1]:
                self.counts.problems.append(_different(f"{request.method} {request.path} {request.bodies[0]!r}", *replies))
            elif codes[0] >= 400:
                self.counts.refused += 1
            else:
                theirs, ours = (json_codec.loads(data) for _, data in replies)
                self._compare(f"{request.method} {request.path} {request.bodies[0]!r}", theirs, ours)
                yield theirs, ours

    def _compare(self, what: str, theirs: Json, ours: Json) -> None:
        """Compare two objects, after removing what always differs from them."""
        for one in (theirs, ours):
            for name in _VOLATILE:
                one["metadata"].pop(name, None)
            entries = one["metadata"].get("managedFields", [])
            for entry in entries:
                entry.pop("time", None)
            # their order depends on their times
            entries.sort(key=json_codec.dumps)
        if self._remains.removed(theirs) != self._remains.removed(ours):
            self.counts.problems.append(_different(what, *((200, json_codec.dumps(one)) for one in (theirs, ours))))


class StoredRoundTrips(RoundTrips):
    """Objects that are in the stores in one version, and in the other one after a change: nothing but lists asks the servers.

    So are objects that were stored before another version became the storage version, and rewritten afterwards.
    """

    def _created(self, count: int) -> dict[str, Traveller]:
        found = {one["metadata"]["name"]: Traveller(one) for one in self._case.made(self._first, count, self._choices)}
        self._stores.put({name: one.before for name, one in found.items()})
        self.counts.objects += len(found)
        return found

    def _write(self, travellers: dict[str, Traveller]) -> None:
        for number, one in enumerate(travellers.values()):
            # as the server prunes and defaults what it stores: defaults of the second version are a change, too
            one.written = self._rules.decoded(self._changed(one, number))
            one.there = self._rules.convert(json_values.copy(one.before), self._second)
            self.counts.changed += one.is_changed
        self._stores.put({name: one.written for name, one in travellers.items()})


def _compared(found: Json) -> Json:
    """Return an object with labels and annotations as its only metadata, without the carrier."""
    texts = {name: dict(found["metadata"].get(name) or {}) for name in _TEXTS}
    texts["annotations"].pop(CARRIED, None)
    return found | {"metadata": {name: each for name, each in texts.items() if each}}


def _identity(found: Json) -> Json:
    return {name: found["metadata"][name] for name in ("uid", "resourceVersion")}


def _different(what: str, theirs: Reply, ours: Reply) -> str:
    return f"{what[:3000]}\n    reference: {theirs[0]} {theirs[1].decode()}\n    apiext:    {ours[0]} {ours[1].decode()}"
