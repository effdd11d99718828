"""The page of a plan in a real Chromium."""

from pathlib import Path
from typing import Final

import pytest

from apiext.tools.plan.page import page_of
from apiext.tools.plan.plan import ReleasePlan
from tests.support.builders.plans import ListedObjects, created, custom, plan_of, shaped
from tests.support.clients.browser import Browser

pytestmark = pytest.mark.slow
HOSTILE: Final = "<img src=x onerror=alert(1)><script>alert(2)</script>"
OPEN_ALL: Final = "document.querySelectorAll('details').forEach(one => one.open = true)"


@pytest.fixture(scope="module")
def plan() -> ReleasePlan:
    """Return a plan with a removed field, an added one, a new version and hostile texts."""
    old = created(shaped("v1", "kept", "gone", storage=True))
    new = created(shaped("v1", "kept", "more", HOSTILE, deprecated=True), shaped("v2", "kept", "more", HOSTILE, storage=True))
    return plan_of(old, new, ListedObjects(custom("w", kept="x", gone="y"), custom(HOSTILE, kept="x")))


@pytest.fixture
def url(plan: ReleasePlan, tmp_path: Path) -> str:
    """Return the address of the page."""
    file = tmp_path / "plan.html"
    file.write_text(page_of(plan))
    return file.as_uri()


async def test_shows_the_plan(browser: Browser, url: str) -> None:
    """Show verdict, reasons, the fields of both schemas and the steps, with hostile texts as text; nothing breaks the policy."""
    async with browser.page(url) as page:
        assert (await page.run("document.querySelector('h1').innerText")).startswith("BREAKING: 1 CRD. 2 objects: ")
        text = await page.until("!!document.querySelector('.body h4') && document.body.innerText")
        await page.run(OPEN_ALL)
        await page.until("document.querySelectorAll('.tree').length === 2")
        await page.run(OPEN_ALL)
        marks = await page.run("[...document.querySelectorAll('.tree [data-mark=removed] > .mono')].map(one => one.innerText)")
        shown = await page.run("[...document.querySelectorAll('.tree li')].map(one => one.checkVisibility()).filter(Boolean).length")
        await page.run("document.querySelectorAll('.choice input:checked').forEach(one => one.click())")
        every = await page.run("[...document.querySelectorAll('.tree li')].map(one => one.checkVisibility()).filter(Boolean).length")
        markup = await page.run("document.querySelectorAll('img, main script, iframe').length")

    assert "spec.gone: the field (string) was removed (v1)" in text
    assert marks == ["gone"]
    assert shown < every
    assert markup == 0
    assert page.problems == []


async def test_copies_a_command(browser: Browser, url: str) -> None:
    """Copy a command with its manifest, or select it where the clipboard is not allowed; say so to screen readers."""
    async with browser.page(url) as page:
        await page.until("!!document.querySelector('.command button')")
        command = await page.run("document.querySelector('.command code').textContent")
        await page.run("document.querySelector('.command button').click()")
        news = await page.until("document.getElementById('news').textContent")

    assert command.startswith("kubectl patch crd widgets.example.com --type=merge --patch-file /dev/stdin <<'")
    assert "kind: CustomResourceDefinition" in command
    assert news in ("Copied.", "The command is selected.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1200])
async def test_accessibility(browser: Browser, url: str, width: int, scheme: str) -> None:
    """Find no violation of WCAG AA, and no horizontal scrolling on a phone, in both colour schemes."""
    async with browser.page(url, width=width) as page:
        await page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        await page.until("!!document.querySelector('.body h4')")
        await page.run(OPEN_ALL)
        await page.until("document.querySelectorAll('.tree').length === 2")
        await page.run(OPEN_ALL)
        violations, passed = await page.accessibility()
        widths = await page.run("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")

    assert violations == []
    assert {"color-contrast", "label", "button-name", "heading-order", "region"} <= {*passed}
    assert widths[0] <= widths[1] == width
