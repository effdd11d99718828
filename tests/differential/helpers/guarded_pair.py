"""Both servers with the same webhooks and policies; one webhook server records what each of them asks."""

import copy
import http.client
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Answer, Pair, Side, Step, differing, nested
from hack.lib.waiting import until
from tests.support.admission_webhook import AdmissionCall, AdmissionWebhook
from tests.support.builders import admission
from tests.support.builders.crds import crd

Json = dict[str, Any]
GROUP: Final = "admission.example.com"
MARKERS: Final = f"/apis/{GROUP}/v1/namespaces/default/markers"
MARKER_CRD: Final = crd("markers", kind="Marker", group=GROUP)
_MARKER: Final = {"apiVersion": f"{GROUP}/v1", "kind": "Marker", "metadata": {"name": "marker"}}
_RULE: Final = admission.rule("markers", group=GROUP, operations=["CREATE"])
_ADMINISTRATORS: Final = re.compile(r'"username": "(?:apiext-)?admin"')
_MARKER_NAME: Final = re.compile(r"marker-\d+\.example\.com")
_CREDENTIAL: Final = re.compile(r"X509SHA256=[0-9a-f]{64}")
_GENERATED: Final = re.compile(r"gen-[a-z0-9]{5}\b")
_OTHER_TEXTS: Final = re.compile(
    r"(?P<syntax>Syntax error: ).*?(?=\\n)"
    r"|(?P<host>no-such-host.invalid) on [\d.]+:\d+"
    r"|(?P<address>(?:IP Address .{,40}|network address )parse error during conversion from string: )(?:[^\"\\\\]|\\\\.)*"
    r"|(?P<fields>fix your requests: )(?:error decoding versioned set|key must be 2 characters long).*(?=\\\")"
    r"|(?P<metadata>Invalid value: )\{[^|]*?\}(?=: cannot (?:restore|convert))"
)
"""Texts of malformed expressions, addresses and field sets, the address of the name server, and metadata before it is complete."""
_SENT: Final = ("content-type", "accept")
_SIDES: Final = ("theirs", "apiext")
"""Equally long, so that messages with URLs are cut at the same place."""
_PATIENCE: Final = 30.0
_SERVER: Final = "system:apiserver"
"""The user of a server's own writes, such as the renewal of its Lease every ten seconds."""
_SHOWN: Final = 400
"""Maximum of characters of a request in a difference."""


class GuardedPair:
    """Sends requests to both servers; compares the responses, and what the servers ask webhooks meanwhile.

    A configuration takes effect some time after its creation. So the last one of each kind is a marker, which guards a resource of its
    own: when a write of a marker meets it, everything before it is in effect.
    """

    def __init__(self, pair: Pair, webhook: AdmissionWebhook) -> None:
        self.pair = pair
        self.webhook = webhook
        self._numbers = itertools.count()
        self._validating: set[str] = set()
        self._kept: set[str] = set()

    def keep(self, *configurations: Json) -> None:
        """Create configurations on both servers that no block removes."""
        self._kept |= {one["metadata"]["name"] for one in configurations}
        self._on_both(self._create, configurations)

    @property
    def sides(self) -> list[tuple[str, Side]]:
        """Return both servers with the names under which they call webhooks."""
        return list(zip(_SIDES, (self.pair.reference, self.pair.ours), strict=True))

    @contextmanager
    def installed(self, *configurations: Json, patience: float = _PATIENCE) -> Iterator[None]:
        """Create configurations on both servers, wait until they take effect, and remove them at the end.

        Webhooks without clientConfig get that of the webhook server.
        """
        listed = [*configurations, *self._markers({one["kind"] for one in configurations})]
        self._validating = {
            hook["name"] for one in configurations if one["kind"] == "ValidatingWebhookConfiguration" for hook in one["webhooks"]
        }
        try:
            self._on_both(self._create, listed)
            self._wait(listed, present=True, patience=patience)
            yield
        finally:
            self._on_both(self._remove, listed)
            self._wait(listed, present=False, patience=patience)
            self.webhook.answers.clear()

    def _on_both(self, change: Callable[[str, Side, Sequence[Json]], None], listed: Sequence[Json]) -> None:
        """Change both servers at the same time."""
        with ThreadPoolExecutor(len(_SIDES)) as threads:
            for done in [threads.submit(change, name, side, listed) for name, side in self.sides]:
                done.result()

    def _create(self, name: str, side: Side, listed: Sequence[Json]) -> None:
        for one in listed:
            must(side, Step("POST", admission.collection(one["kind"]), self._addressed(one, name)))

    def _remove(self, _name: str, side: Side, listed: Sequence[Json]) -> None:
        """Remove all configurations of the kinds but those to keep, the markers last."""
        kinds = list(dict.fromkeys(one["kind"] for one in listed))
        markers = {one["metadata"]["name"] for one in listed if one["metadata"]["name"].startswith("marker-")}
        for kind, spared in itertools.product(kinds, (markers | self._kept, self._kept)):
            others = "%2C".join(f"metadata.name!%3D{name}" for name in sorted(spared))
            side.raw(Step("DELETE", f"{admission.collection(kind)}?fieldSelector={others}"))

    def differences(self, step: Step) -> list[str]:
        """Return a line for each difference between responses, and between reviews."""
        self.webhook.calls.clear()
        self.pair.compared += 1
        theirs, ours = (ask(name, side, step) for name, side in self.sides)
        reviews, own = self._reviews()
        shown = str(step)[:_SHOWN]
        found = [f"{shown}\n    reference: {one}\n    apiext:    {other}" for one, other in differing(theirs, ours)]
        called, asked = ([review["hook"] for review in some] for some in (reviews, own))
        if called != asked:
            return [*found, f"{shown}\n    reference calls: {called}\n    apiext calls:    {asked}"]
        pairs = nested("", reviews, own)
        return found + [f"{shown}\n    reference asks: {one}\n    apiext asks:    {other}" for one, other in pairs]

    def compare(self, steps: Iterable[Step]) -> list[str]:
        """Return the differences of all steps."""
        return [line for step in steps for line in self.differences(step)]

    def _reviews(self) -> tuple[list[Json], list[Json]]:
        """Return what the servers asked: mutating webhooks in their order, then validating ones, which run at the same time, by name."""
        theirs, ours = ([call for call in self.webhook.taken(name) if not _is_of_server(call)] for name in _SIDES)
        attempts = _attempts(theirs, len(ours))
        reviews, own = ([self._shown(call) for call in sorted(calls, key=self._turn)] for calls in (attempts[-1], ours))
        return reviews, own

    def _turn(self, call: AdmissionCall) -> tuple[str, bool, str]:
        """Return the place of a call. Servers may delete the objects of a collection in any order."""
        request = call.request
        deleted = request["oldObject"]["metadata"]["name"] if request["operation"] == "DELETE" and not request.get("name") else ""
        validates = call.hook in self._validating
        return deleted, validates, call.hook if validates else ""

    @staticmethod
    def _shown(call: AdmissionCall) -> Json:
        text = _GENERATED.sub("gen-*", json.dumps(call.review))
        text = _CREDENTIAL.sub("X509SHA256=*", _ADMINISTRATORS.sub('"username": "*"', text))
        review = json.loads(text)
        user = review["request"]["userInfo"]
        review["request"]["userInfo"] = {("id" if key == "uid" else key): value for key, value in user.items()}
        sent = {header: call.headers.get(header) for header in _SENT}
        return {"hook": call.hook, "query": call.query, "headers": sent, "review": masked(review)}

    def _addressed(self, configuration: Json, side: str) -> Json:
        made = copy.deepcopy(configuration)
        for hook in made.get("webhooks", ()):
            hook.setdefault("clientConfig", self.webhook.client_config(side, hook["name"]))
        return made

    def _markers(self, kinds: set[str]) -> list[Json]:
        """Return the markers of kinds: webhooks that are called, and policies that warn or set a label."""
        name = f"marker-{next(self._numbers)}.example.com"
        made: list[Json] = []
        if "MutatingWebhookConfiguration" in kinds:
            made.append(admission.mutating(name, admission.hook(f"m-{name}", _RULE)))
        if "ValidatingWebhookConfiguration" in kinds:
            made.append(admission.validating(name, admission.hook(f"v-{name}", _RULE)))
        if "ValidatingAdmissionPolicy" in kinds:
            made.append(admission.validating_policy(name, {"expression": "false", "message": name}, rules=[_RULE]))
            made.append(admission.validating_binding(name, name, "Warn"))
        if "MutatingAdmissionPolicy" in kinds:
            change = f'[JSONPatch{{op: "add", path: "/metadata/labels", value: {{"marker": "{name}"}}}}]'
            made.append(admission.mutating_policy(name, admission.json_patching(change), rules=[_RULE]))
            made.append(admission.mutating_binding(name, name))
        return made

    def _wait(self, listed: Iterable[Json], *, present: bool, patience: float) -> None:
        """Wait until writes meet the markers, or no longer meet them."""
        markers = {one["kind"]: one["metadata"]["name"] for one in listed if one["metadata"]["name"].startswith("marker-")}
        what = f"the {'effect' if present else 'removal'} of {sorted(markers)}"
        for name, side in self.sides if markers else ():
            until(partial(self._is_met, present, name, side, markers), f"{what} at {name}", patience=patience)

    def _is_met(self, present: bool, *found: Any) -> bool:  # noqa: FBT001 -- for partial
        return self._met(*found) is present

    def _met(self, name: str, side: Side, markers: dict[str, str]) -> bool | None:
        """Return whether a write meets all markers, None if it meets some."""
        self.webhook.taken(name)
        response, data = side.raw(Step("POST", f"{MARKERS}?dryRun=All", _MARKER))
        called = {call.hook for call in self.webhook.taken(name)}
        metadata = json.loads(data).get("metadata") or {}
        warnings = " ".join(response.headers.get_all("Warning") or ())
        found = {
            "MutatingWebhookConfiguration": {hook.removeprefix("m-") for hook in called},
            "ValidatingWebhookConfiguration": {hook.removeprefix("v-") for hook in called},
            "ValidatingAdmissionPolicy": set(_MARKER_NAME.findall(warnings)),
            "MutatingAdmissionPolicy": {(metadata.get("labels") or {}).get("marker")},
        }
        met = {marker in found[kind] for kind, marker in markers.items() if kind in found}
        return met.pop() if len(met) == 1 else None


def _is_of_server(call: AdmissionCall) -> bool:
    return bool(call.request["userInfo"].get("username") == _SERVER)


def _attempts(calls: list[AdmissionCall], size: int) -> list[list[AdmissionCall]]:
    """Return calls by the attempts of a write.

    The reference asks again when a write began with an object from its cache that turns out to be old.
    """
    if not size or len(calls) <= size or len(calls) % size:
        return [calls]
    found = [calls[start : start + size] for start in range(0, len(calls), size)]
    same = len({tuple(sorted(call.hook for call in attempt)) for attempt in found}) == 1
    return found if same else [calls]


def ask(name: str, side: Side, step: Step) -> Answer:
    """Send a request; the response names no server in the URLs of webhooks."""
    answer = side.ask(step)
    body, headers = (
        json.loads(_OTHER_TEXTS.sub(_kept, json.dumps(part).replace(f"/{name}/", "/SIDE/"))) for part in (answer.body, answer.headers)
    )
    return Answer(answer.code, headers, body)


def _kept(found: re.Match[str]) -> str:
    """Return the common part of texts that differ."""
    return found[found.lastgroup or 0]


def must(side: Side, step: Step) -> None:
    """Send a request that must succeed.

    Raises:
        AssertionError: it fails.
    """
    response, data = side.raw(step)
    if response.status >= http.client.BAD_REQUEST:
        raise AssertionError(f"{step} is refused with {response.status}: {data[:1000]!r}")
