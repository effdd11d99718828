"""Pages: nothing in them runs but their own script, and their colours can be read."""

import base64
import hashlib
import json
import re
from typing import Final

import pytest

from apiext.base.pages.page import HtmlPage, encoded

PAGES: Final = {name: HtmlPage(name) for name in ("apiext.server.version_map", "apiext.tools.plan")}
HOSTILE: Final = {"name": "</script><script>alert(1)</script><!-- %SCRIPT% %STYLE% %DATA%"}
TEXTS: Final = [
    *[(ink, ground) for ink in ("text", "muted") for ground in ("ground", "surface", "sunk")],
    ("accent", "surface"),
    ("on-accent", "accent"),
    *[(ink, "surface") for ink in ("bad", "warn", "good")],
    *[(ink, "ground") for ink in ("bad", "warn", "good")],
    ("good", "good-ground"),
    ("warn", "warn-ground"),
    ("bad", "bad-ground"),
]
"""Colours of texts on their grounds."""
SHAPES: Final = [
    *[(shape, "track") for shape in ("accent", "old", "lost")],
    *[("edge", ground) for ground in ("ground", "surface")],
    ("accent", "ground"),
    ("accent", "surface"),
]
"""Colours of bars, controls and the focus beside their neighbours."""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inside(tag: str, text: str) -> str:
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("connects", [True, False])
def test_the_policy_allows_the_page_alone(name: str, *, connects: bool) -> None:
    """Allow the script and the style of the page by their hashes, and no other source; only a live page may connect."""
    text = PAGES[name].filled(b"null", connects=connects).decode()
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None
    policy = dict(rule.split(" ", 1) for rule in found[1].split("; "))

    assert policy == {
        "default-src": "'none'",
        "script-src": _hash(_inside("script", text)),
        "style-src": _hash(_inside("style", text)),
        "img-src": "data:",
        "connect-src": "'self'" if connects else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert not re.search(r"""\b(?:src|href)="(?!#|data:)|@import|url\(|\bon\w+=|style=""", text)


@pytest.mark.parametrize("name", PAGES)
def test_scripts_make_no_markup_of_data(name: str) -> None:
    """Make elements and text nodes only: names of objects are input of others."""
    unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|DOMParser"

    assert re.findall(unsafe, PAGES[name].script) == []


@pytest.mark.parametrize("name", PAGES)
def test_data_stays_data(name: str) -> None:
    """Keep hostile names inside their element, and the placeholders in them as they are."""
    text = PAGES[name].filled(encoded({"definitions": [HOSTILE]})).decode()
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)

    assert found is not None
    assert json.loads(found[1]) == {"definitions": [HOSTILE]}
    assert text.count("<script") == 2
    assert "%POLICY%" not in text


def _colours(css: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", css))


def _luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    values = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in values)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme: str) -> None:
    """Give texts a contrast of 4.5, and shapes one of 3 (WCAG AA), in both colour schemes."""
    light, _, dark = PAGES["apiext.tools.plan"].style.partition("@media (prefers-color-scheme: dark)")
    colours = _colours(light) | (_colours(dark) if scheme == "dark" else {})

    assert {pair: ratio for pair in TEXTS if (ratio := _contrast(colours[pair[0]], colours[pair[1]])) < 4.5} == {}
    assert {pair: ratio for pair in SHAPES if (ratio := _contrast(colours[pair[0]], colours[pair[1]])) < 3} == {}
