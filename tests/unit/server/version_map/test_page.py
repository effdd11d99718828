"""The page: nothing in it runs but its own script, and its colours can be read."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Final

import pytest

from apiext.server.version_map import page

DATA: Final = Path(page.__file__).parent / "data"
HOSTILE: Final = {"name": "</script><script>alert(1)</script><!-- %SCRIPT% %STYLE% %DATA%"}
TEXTS: Final = [
    *[(ink, ground) for ink in ("text", "muted") for ground in ("ground", "surface", "sunk")],
    ("accent", "surface"),
    ("on-accent", "accent"),
    ("bad", "surface"),
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


@pytest.mark.parametrize("is_live", [True, False])
def test_the_policy_allows_the_page_alone(is_live: bool) -> None:  # noqa: FBT001 -- pytest's parameter
    """Allow the script and the style of the page by their hashes, and no other source; only the live page may connect."""
    text = (page.live_page() if is_live else page.saved_page({"definitions": []})).decode()
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None
    policy = dict(rule.split(" ", 1) for rule in found[1].split("; "))

    assert policy == {
        "default-src": "'none'",
        "script-src": _hash(_inside("script", text)),
        "style-src": _hash(_inside("style", text)),
        "img-src": "data:",
        "connect-src": "'self'" if is_live else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert not re.search(r"""\b(?:src|href)="(?!#|data:)|@import|url\(|\bon\w+=|style=""", text)


def test_the_headers_keep_others_out() -> None:
    """Send the policy as a header too, with what only a header can say."""
    headers = page.headers()

    assert headers["Content-Security-Policy"].endswith("; frame-ancestors 'none'")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_script_makes_no_markup_of_data() -> None:
    """Make elements and text nodes only: names of objects are input of others."""
    script = (DATA / "page.js").read_text()

    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|DOMParser", script) == []


def test_saved_data_stays_data() -> None:
    """Keep hostile names inside their element, and the placeholders in them as they are."""
    text = page.saved_page({"definitions": [HOSTILE]}).decode()
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
    light, _, dark = (DATA / "page.css").read_text().partition("@media (prefers-color-scheme: dark)")
    colours = _colours(light) | (_colours(dark) if scheme == "dark" else {})

    assert {pair: ratio for pair in TEXTS if (ratio := _contrast(colours[pair[0]], colours[pair[1]])) < 4.5} == {}
    assert {pair: ratio for pair in SHAPES if (ratio := _contrast(colours[pair[0]], colours[pair[1]])) < 3} == {}
