"""What clients accept, held against the reference: errors in Protobuf, wildcards, and types that nobody writes."""

from itertools import product
from typing import Final

import pytest

from tests.differential.pair import Pair, Step
from tests.support.inprocess import CRDS, definition

pytestmark = pytest.mark.slow

BASE: Final = "/apis/media.example.com/v1/namespaces/default/widgets"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
ACCEPTED: Final = (
    PROTOBUF,
    f"{PROTOBUF},application/json",
    f"application/json,{PROTOBUF}",
    f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1",
    f"{PROTOBUF};q=0.5, application/yaml;q=0.1",
    "*/*",
    "application/*",
    "text/html",
)
ERRORS: Final = (
    Step("GET", f"{BASE}/missing"),
    Step("GET", f"{BASE}?labelSelector=a%20b"),
    Step("GET", f"{BASE}?watch=true&resourceVersion=x"),
    Step("POST", BASE, {"apiVersion": "media.example.com/v1", "kind": "Widget", "metadata": {"name": "A_"}, "spec": {"replicas": "x"}}),
    Step("PUT", f"{BASE}/missing", {}),
    Step("DELETE", f"{BASE}/missing"),
    Step("GET", "/api/v1/namespaces/missing"),
    Step("GET", "/api/v1/namespaces/default/missing"),
    Step("POST", "/api/v1/namespaces", {"metadata": {"name": "A_"}}),
    Step("GET", f"{CRDS}/missing"),
    Step("GET", "/version/missing"),
    *(Step(method, "/version") for method in ("POST", "DELETE", "HEAD", "OPTIONS", "TRACE")),
)


def test_errors_in_what_is_accepted(pair: Pair) -> None:
    """Every error has the reference's code, media type and body, whatever the client accepts.

    Built-in kinds are left out where only Protobuf is accepted: the reference can write them so, apiext cannot.
    """
    with pair.served(definition(group="media.example.com")):
        cases = [
            (step, accept) for step, accept in product(ERRORS, ACCEPTED) if accept != PROTOBUF or step.path.startswith((BASE, "/version"))
        ]
        steps = [Step(step.method, step.path, step.body, {"Accept": accept}) for step, accept in cases]
        found = [difference for step in steps for difference in pair.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)
