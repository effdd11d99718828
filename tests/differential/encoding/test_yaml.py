"""Tests that kube-apiserver reads the YAML that apiext writes."""

import json
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding import yaml_codec
from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.hostile_values import CRD, DRY, GROUP, PATH, YAML
from tests.support.builders.yaml_texts import TYPED, texts

pytestmark = pytest.mark.slow

_TYPED_VALUES: Final[list[Any]] = [*TYPED, {text: [text, {text: text}] for text in TYPED}, 1, -1.5, 1e21, True, None, [], {}]


def _read_by_reference(pair: Pair, value: Any) -> Any:
    """Return the value that the reference reads from apiext's YAML."""
    obj = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "yaml"}, "spec": {"any": value}}
    response, data = pair.reference.raw(Step("POST", PATH + DRY, yaml_codec.dumps(obj), YAML))
    assert response.status == 201, data
    return json.loads(data)["spec"]["any"]


def test_reference_reads_typed_strings(pair: Pair) -> None:
    """Read strings that look like other types as strings."""
    with pair.served(CRD):
        assert _read_by_reference(pair, _TYPED_VALUES) == _TYPED_VALUES


def test_reference_reads_what_apiext_writes(pair: Pair) -> None:
    """Read the same values, whatever strings are in them."""

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.lists(texts | st.dictionaries(texts, texts, max_size=3), max_size=40))
    def check(values: list[Any]) -> None:
        assert _read_by_reference(pair, values) == values

    with pair.served(CRD):
        check()
