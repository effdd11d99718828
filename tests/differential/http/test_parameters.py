"""Tests of odd values in continue tokens, query parameters, names and headers: equal codes."""

import base64
import random
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.hostile_values import CRD, DRY, PATH, body
from tests.differential.helpers import refusals
from tests.differential.helpers.differences import assert_none
from tests.support.builders.seeds import seeded

pytestmark = pytest.mark.slow

_ODD: Final = (
    *("", "0", "-1", "+1", "00", "1e3", "0x1", " 1", "1 ", "9" * 30, "9" * 5000, "9223372036854775808", "-9223372036854775808", "NaN"),
    *(
        *("true", "false", "null", "[]", "{}", "\udcff", "é", "\u2028", "\U0001f600"),
        "a" * 5000,
        *("%", "%zz", ";", "&", "=", "\n", "\r\n"),
    ),
    *("\t", "'", '"', "\\", "../..", "a/b", "*", "?", "#", "@", "[" * 1000, "(" * 1000, "," * 1000, "!" * 1000),
)
_READS: Final = (
    *("limit", "timeoutSeconds", "labelSelector", "fieldSelector", "resourceVersionMatch", "allowWatchBookmarks", "sendInitialEvents"),
    *("continue", "resourceVersion", "pretty"),
)
_WRITES: Final = (
    *("fieldValidation", "dryRun", "fieldManager", "force", "propagationPolicy", "gracePeriodSeconds", "orphanDependents", "uid"),
)
_BROKEN: Final = ("\n\t", "ab\n\rc!", "ab\ncd\ne\n", "abcd\r\na", "é\n!", "YQ==")
"""Continue tokens that are not base64."""
_TOKENS: Final = (
    *("[" * levels + "]" * levels for levels in (1, 100)),
    *('{"a":' * levels + "1" + "}" * levels for levels in (1, 100)),
    *('{"v":[]}', '{"rv":NaN}', '{"rv":Infinity}', "NaN", "-", '"', "1e999", '{"rv":1e2}', '{"rv":1.0}', '{"rv":-0}', "nul", "[1"),
    *("{} x", ""),
    *('{"v":"\\ud800"}', '{"V":"x"}', '{"v":null,"rv":null}', "\ufeff{}", '{"rv":' + "9" * 5000 + "}"),
)
_VALID_TOKEN: Final = '{"v":"meta.k8s.io/v1","rv":-1,"start":"a"}'
MUTATIONS: Final = 100
"""Number of tokens with a few characters changed at random."""
SEED: Final = "parameters"


def _quoted(value: str) -> str:
    return quote(value.encode(errors="surrogateescape"), safe="")


def _requests() -> Iterator[Step]:
    for value in map(_quoted, _ODD):
        for name in _READS:
            yield Step("GET", f"{PATH}?{name}={value}")
            yield Step("DELETE", f"{PATH}{DRY}&{name}={value}")
        for name in _WRITES:
            yield Step("POST", f"{PATH}?{name}={value}&dryRun=All", body(b'"n":1'))
            yield Step("DELETE", f"{PATH}/none?{name}={value}")
            yield Step("DELETE", f"{PATH}/none", {"kind": "DeleteOptions", "apiVersion": "v1", name: value})
        yield Step("GET", f"{PATH}/{value}")
        yield Step("GET", f"{PATH}/none/{value}")


def _mutated(rng: random.Random) -> str:
    text = list(_VALID_TOKEN)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        text[at : at + rng.choice((0, 1, 2))] = rng.choice(('"', ":", ",", "}", "{", "0", "-", ".", "e", "\\", "é", "null", " "))
    return "".join(text)


def test_codes(pair: Pair) -> None:
    """Return the reference's code for every odd value."""
    found = []
    with pair.served(CRD):
        for step in _requests():
            theirs, ours = pair.reference.raw(step)[0].status, pair.ours.raw(step)[0].status
            if theirs != ours:
                found.append(f"{str(step)[:300]}: {theirs}, not {ours}")

    assert_none(found)


def test_tokens(pair: Pair) -> None:
    """Accept or refuse every continue token alike."""
    rng = seeded(SEED)
    texts = (*_TOKENS, *(_mutated(rng) for _ in range(MUTATIONS)))
    with pair.served(CRD):
        encoded = (base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode() for text in texts)
        tokens = (*encoded, *map(quote, _BROKEN))
        assert_none(refusals.differences(pair, (Step("GET", f"{PATH}?limit=1&continue={token}") for token in tokens)))
