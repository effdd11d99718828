"""Tests of bytes that are not UTF-8 in queries: errors must show them as the reference does."""

from collections.abc import Iterator
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.hostile_values import CRD, DRY, GROUP, MERGE, ONE, PATH
from tests.support.servers.in_process import CRDS

pytestmark = pytest.mark.slow

BYTES: Final = ("%ff", "%e2%82x", "%ed%a0%80", "%f0%9f%98%c3%a9")
_THING: Final = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "n"}}
_APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_LISTED: Final = ("resourceVersion", "resourceVersionMatch", "limit", "labelSelector", "fieldSelector", "continue", "timeoutSeconds")


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Serve custom resources on both servers, with one object."""
    with pair.served(CRD):
        assert pair.differences(Step("POST", PATH, {**_THING, "metadata": {"name": "a"}})) == []
        yield pair


def _query_steps(text: str) -> Iterator[Step]:
    for name in _LISTED:
        yield Step("GET", f"{PATH}?{name}={text}")
        yield Step("GET", f"{CRDS}?{name}={text}")
    for selector in (f"a={text}", f"a%20in%20({text})", f"metadata.name={text}", f"{text}=a"):
        yield Step("GET", f"{PATH}?labelSelector={selector}")
        yield Step("GET", f"{PATH}?fieldSelector={selector}")
    for name in ("propagationPolicy", "dryRun", "gracePeriodSeconds", "orphanDependents"):
        yield Step("DELETE", f"{PATH}/x?{name}={text}")
    for name in ("dryRun", "fieldValidation", "fieldManager"):
        yield Step("POST", f"{PATH}{DRY}&{name}={text}", _THING)
        yield Step("PATCH", f"{ONE}{DRY}&{name}={text}", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        yield Step("PATCH", f"{ONE}{DRY}&{name}={text}", {**_THING, "metadata": {"name": "a"}}, _APPLY)
    yield Step("GET", f"{PATH}?{text}=1")


@pytest.mark.parametrize("text", BYTES)
def test_odd_bytes(served: Pair, text: str) -> None:
    """Show bytes that are not UTF-8 alike in every answer."""
    found = [difference for step in _query_steps(text) for difference in served.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)
