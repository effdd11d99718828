"""The version map in a real Chromium, behind `kubectl proxy`."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.process import Process, environment, free_port
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version, widget
from tests.support.clients.browser import Browser, Page
from tests.support.clients.client import CRDS, MERGE_PATCH, Client
from tests.support.conversion_webhook import BREAK, ConversionWebhook

pytestmark = pytest.mark.slow
PATH: Final = "/apiext/versions"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
NAME: Final = "widgets.example.com"
HOSTILE: Final = "<img src=x onerror=alert(1)><script>alert(2)</script>"
SCHEMA: Final = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string", "maxLength": 3}}}},
}
ROLE: Final = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "map"},
    "rules": [{"nonResourceURLs": [PATH, f"{PATH}/*"], "verbs": ["get"]}],
}
BINDING: Final = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "map"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "map"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}],
}
LIVE: Final = "document.getElementById('connection').textContent === 'Live'"
OPEN_ALL: Final = "document.querySelectorAll('details').forEach(one => one.open = true)"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server with objects in two versions, some of them invalid, and with hostile texts."""
    with ApiextServer(tmp_path_factory.mktemp("apiext"), extra_args=["--authorization-mode=RBAC"]) as server, Client(server) as client:
        client.define(crd("widgets", version("v1alpha1"), version("v1", storage=True), version("v2")))
        for name, size in (("a", "m"), ("b", "large")):
            client.must("POST", WIDGETS, widget(name, size=size))
        found = client.must("GET", f"{CRDS}/{NAME}")
        found["spec"]["versions"] = [
            version("v1alpha1", served=False),
            version("v1", schema=SCHEMA, deprecated=True, deprecationWarning=HOSTILE),
            version("v2", storage=True, schema=SCHEMA),
        ]
        client.must("PUT", f"{CRDS}/{NAME}", found)
        client.must("PATCH", f"{CRDS}/{NAME}/status", {"status": {"storedVersions": [HOSTILE, "v1", "v2"]}}, MERGE_PATCH)
        for name in ("c", "d", "e"):
            client.must("POST", WIDGETS, widget(name, size="s"))
        long = "averyveryveryverylongresourcenamethatdoesnotbreak"
        client.define(crd(long, kind="AVeryVeryVeryVeryLongResourceNameThatDoesNotBreak", group=f"{'sub.' * 12}example.org"))
        for kind, body in (("clusterroles", ROLE), ("clusterrolebindings", BINDING)):
            client.must("POST", f"/apis/rbac.authorization.k8s.io/v1/{kind}", body)
        yield server


@contextmanager
def proxied(server: ApiextServer, *flags: str) -> Iterator[str]:
    """Run `kubectl proxy`, and yield the address of the page."""
    port = free_port()
    command: list[str | Path] = [binaries.binary("kubectl"), f"--kubeconfig={server.kubeconfig}", *flags, "proxy", f"--port={port}"]
    process = Process(command, server.folder / f"proxy-{port}.log", environment(HOME=str(server.folder)))
    process.start()
    try:
        process.wait_until(lambda: "Starting to serve" in process.log.read_text(), 30)
        yield f"http://127.0.0.1:{port}{PATH}"
    finally:
        process.kill()


@pytest.fixture(scope="module")
def url(filled: ApiextServer) -> Iterator[str]:
    """Return the address of the page for the administrator."""
    with proxied(filled) as address:
        yield address


def _details(name: str = NAME) -> str:
    return f"document.querySelector('details[data-name=\"{name}\"]')"


async def _focused(page: Page) -> str:
    """Return the element with the focus in a word."""
    return str(await page.run("(one => one.id || one.dataset.filter || one.textContent.slice(0, 20))(document.activeElement)"))


async def test_shows_what_is_stored(browser: Browser, url: str) -> None:
    """Show versions, counts, invalid objects and next steps, with hostile texts as text; nothing breaks the policy."""
    async with browser.page(url) as page:
        await page.until(f"{_details()}?.textContent.includes('1 invalid')")
        summary = await page.run(f"{_details()}.querySelector('summary').innerText")
        await page.run(OPEN_ALL)
        text = await page.until(f"{_details()}.innerText.includes('Copy') && {_details()}.innerText")
        markup = await page.run("document.querySelectorAll('img, details script, iframe').length")

    assert summary.split() == [
        *("Widget", "widgets", "1", "invalid", "old", "versions", "stored", "deprecated", "can", "be", "dropped"),
        *(
            "v1alpha1",
            "none",
            "v1",
            "2",
            "v2",
            "storage",
            "version:",
            "3",
            HOSTILE.split()[0],
            *HOSTILE.split()[1:],
            "none",
            "5",
            "objects",
        ),
    ]
    assert f"Clients get the warning: {HOSTILE}" in text
    assert "Store 2 objects in v2" in text
    assert "default/b invalid" in text
    assert "spec.size: Too long: may not be more than 3 bytes" in text
    assert "apiext" not in text
    assert markup == 0
    assert page.problems == []


async def test_changes_without_a_reload(browser: Browser, filled: ApiextServer, url: str) -> None:
    """Show changes as they come: counts, a new definition and its end. What is open stays open, and the focus stays where it is."""
    async with browser.page(url) as page:
        await page.until(f"{LIVE} && !!{_details()}")
        await page.run(f"window.mark = 1; {_details()}.open = true")
        await page.until(f"!!{_details()}.querySelector('.command button')")
        await page.run(f"{_details()}.querySelector('.command button').focus()")
        with Client(filled) as client:
            client.must("POST", WIDGETS, widget("f", size="s"))
            await page.until(f"{_details()}.querySelector('.count').innerText.startsWith('6')")
            assert await _focused(page) == "Copy the command: St"
            assert (await page.until("document.getElementById('news').textContent")).endswith("changed.")
            client.define(crd("gadgets", kind="Gadget"))
            await page.until(f"!!{_details('gadgets.example.com')}")
            client.must("DELETE", f"{CRDS}/gadgets.example.com")
            await page.until(f"!{_details('gadgets.example.com')}")
            client.must("DELETE", f"{WIDGETS}/f")
            await page.until(f"{_details()}.querySelector('.count').innerText.startsWith('5')")
        assert await page.run(f"window.mark === 1 && {_details()}.open")
    assert page.problems == []


async def test_search_by_keyboard(browser: Browser, url: str) -> None:
    """Reach everything by keys: the skip link first, then search, filters and definitions; search says what it has found."""
    async with browser.page(url) as page:
        await page.until(f"{LIVE} && !!{_details()}")
        order = []
        for _ in range(9):
            await page.press("Tab")
            order.append(await _focused(page))
        assert order[:-1] == ["Skip to the definiti", "query", "all", "attention", "old", "migrating", "deprecated", "drop"]
        await page.run("document.getElementById('query').focus()")
        await page.type("EXAMPLE.com v2 deprecated")
        assert await page.run("document.getElementById('result').textContent") == "1 of 2 definitions"
        assert await page.until("document.getElementById('news').textContent") == "1 of 2 definitions"
        await page.press("ArrowDown")
        assert await page.run(f"document.activeElement === {_details()}.querySelector('summary')")
        await page.press("Enter")
        assert await page.run(f"{_details()}.open")
        await page.run("document.getElementById('query').focus()")
        await page.type(" nothing")
        assert await page.run(f"{_details()}.hidden")
        await page.press("Escape")
        assert await page.run("document.getElementById('result').textContent") == "2 definitions"
        await page.run("document.querySelector('[data-filter=attention]').focus()")
        await page.press(" ")
        assert await page.run("document.getElementById('result').textContent") == "1 of 2 definitions"
        assert await page.run("document.querySelector('[data-filter=attention]').getAttribute('aria-pressed')") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1200])
async def test_accessibility(browser: Browser, url: str, width: int, scheme: str) -> None:
    """Find no violation of WCAG AA, and no horizontal scrolling on a phone, in both colour schemes."""
    async with browser.page(url, width=width) as page:
        await page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        await page.until(f"{LIVE} && !!{_details()}")
        await page.run(OPEN_ALL)
        await page.until("[...document.querySelectorAll('details')].every(one => one.querySelector('h4'))")
        violations, passed = await page.accessibility()
        widths = await page.run("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        moving = await page.run("document.getAnimations().length")

    assert violations == []
    assert {"color-contrast", "label", "button-name", "heading-order", "region"} <= {*passed}
    assert widths[0] <= widths[1] == width
    assert moving == 0


async def test_the_policy_stops_other_scripts(browser: Browser, url: str) -> None:
    """Run no script that is not the page's, and load nothing from elsewhere."""
    async with browser.page(url) as page:
        await page.until(LIVE)
        await page.run("""window.broken = []; addEventListener('securitypolicyviolation', event => broken.push(event.effectiveDirective));
            const script = document.createElement('script'); script.textContent = 'window.ran = true'; document.body.append(script);
            const image = document.createElement('img'); image.src = location.href; document.body.append(image);
            document.body.setAttribute('style', 'color: red')""")
        broken = await page.until("window.broken.length > 2 && window.broken")

        assert not await page.run("window.ran")
    assert set(broken) == {"script-src-elem", "img-src", "style-src-attr"}


async def test_names_are_for_those_who_may_list(browser: Browser, filled: ApiextServer) -> None:
    """Show a user without permissions the counts, and not even send the names."""
    with proxied(filled, "--as=viewer") as address:
        async with browser.page(address) as page:
            await page.until(f"{_details()}?.textContent.includes('1 invalid')")
            await page.run(OPEN_ALL)
            text = await page.until(f"{_details()}.innerText.includes('Copy') && {_details()}.innerText")
            data = await page.run(
                "fetch('versions/events').then(answer => answer.body.getReader().read()).then(part => new TextDecoder().decode(part.value))"
            )
        async with browser.page(address.replace("versions", "import/x")) as other:
            refused = await other.text()

    assert f"Names are shown to users who may list {NAME}." in text
    assert "default/b" not in text
    assert "default/b" not in data
    assert "forbidden" in refused


async def test_shows_circuits(browser: Browser, filled: ApiextServer, url: str, tmp_path: Path) -> None:
    """Show the calls of a conversion webhook with their latency, and that its circuit opens and closes."""
    fleets = "/apis/fleet.example.com/v1/namespaces/default/fleets"
    fleet, name = _details("fleets.fleet.example.com"), "fleets.fleet.example.com"
    with Client(filled) as client, ConversionWebhook(tmp_path) as webhook:
        client.define(crd("fleets", version("v1", storage=True), version("v2"), kind="Fleet", group="fleet.example.com"))
        client.must("PATCH", f"{CRDS}/{name}", {"spec": {"conversion": webhook.conversion()}}, MERGE_PATCH)
        body = {"apiVersion": "fleet.example.com/v1", "kind": "Fleet", "metadata": {"name": "a"}}
        client.must("POST", fleets, body)
        other = fleets.replace("v1", "v2") + "/a"
        until(lambda: client.ask("GET", other).status == 200, "conversion")
        async with browser.page(url) as page:
            await page.until(f"!!{fleet}")
            await page.run(f"{fleet}.open = true")
            await page.until(f"[...{fleet}.querySelectorAll('tbody th')].some(one => one.innerText === 'v1 → v2')")
            works, webhook.answer = webhook.answer, lambda _: BREAK
            for number in range(4):
                client.ask("PUT", f"{fleets}/a", client.must("GET", f"{fleets}/a") | {"spec": {"number": number}})
                client.ask("GET", other)
            await page.until(f"{fleet}.innerText.includes('its circuit is open') && {fleet}.dataset.level === 'bad'")
            assert "circuit open" in await page.run(f"{fleet}.querySelector('.tags').innerText")
            webhook.answer = works
            until(lambda: client.ask("GET", other).status == 200, "conversion")
            await page.until(f"!{fleet}.innerText.includes('its circuit is open')")
            client.must("DELETE", f"{CRDS}/{name}")


async def test_comes_back_after_a_restart(browser: Browser, filled: ApiextServer, url: str) -> None:
    """Say that the connection is lost, and go on with the next server; an open stream does not hold up the end of the first."""
    async with browser.page(url) as page:
        await page.until(f"{LIVE} && !!{_details()}")
        await asyncio.to_thread(filled.stop)
        await page.until("document.getElementById('connection').dataset.state === 'lost'")
        await asyncio.to_thread(filled.start)
        await page.until(LIVE)
        with Client(filled) as client:
            client.must("POST", WIDGETS, widget("g", size="s"))
            await page.until(f"{_details()}.querySelector('.count').innerText.startsWith('6')")
            client.must("DELETE", f"{WIDGETS}/g")


async def test_saves_the_page(browser: Browser, filled: ApiextServer, tmp_path: Path) -> None:
    """Write the same page from the server and from its store, complete in one file; without a network it needs nothing else."""
    shown: list[str] = []
    for source in (f"--kubeconfig={filled.kubeconfig}", f"--data-dir={filled.data_dir}"):
        file = tmp_path / f"{len(shown)}.html"
        await asyncio.to_thread(_versions, f"--html={file}", "--validate", source)
        async with browser.page(file.as_uri()) as page:
            await page.run(OPEN_ALL)
            await page.until(f"{_details()}.innerText.includes('default/b invalid')")
            assert (await page.run("document.getElementById('connection').textContent")).startswith("Saved 2")
            assert page.problems == []
            shown.append(await page.run("document.getElementById('definitions').innerText"))
    assert shown[0] == shown[1]
    assert (
        await asyncio.to_thread(_versions, "--html=/nowhere/x", source, code=1) == "apiext: --html: /nowhere/x: No such file or directory\n"
    )


def _versions(*arguments: str, code: int = 0) -> str:
    """Run `apiext versions`; return its error output."""
    done = subprocess.run([sys.executable, "-m", "apiext", "versions", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr
