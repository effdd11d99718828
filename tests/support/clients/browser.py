"""A real Chromium without a window, driven by the DevTools protocol."""

import asyncio
import base64
import itertools
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Self

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from hack.lib.chromium import NoChromiumError, find
from hack.lib.servers.process import Process, environment

_PATIENCE: Final = 30.0
"""Seconds to wait for the browser, or for something on a page."""
_POLL: Final = 0.02
_MAX_MESSAGE: Final = 64 << 20
_AXE: Final = """axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}).then(found => [
    found.violations.map(one => [one.id, one.nodes.map(node => node.html + ' ' + node.failureSummary)]),
    found.passes.map(one => one.id)])"""
_KEYS: Final = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40}
"""The keys that are pressed, with their codes."""


def chromium() -> str:
    """Return the path of Chromium. Skip the test if there is none."""
    try:
        return find()
    except NoChromiumError as error:
        pytest.skip(str(error))


class Page:
    """A tab of the browser."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self._browser = browser
        self._session = session
        self.problems: list[str] = []
        """Errors of the page's script, and violations of its Content-Security-Policy."""

    async def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol for this page."""
        return await self._browser.call(method, self._session, **parameters)

    async def open(self, url: str) -> None:
        """Load a document, and wait until it is complete."""
        loaded = self._browser.next_event("Page.loadEventFired", self._session)
        found = await self.call("Page.navigate", url=url)
        assert not found.get("errorText"), found
        async with asyncio.timeout(_PATIENCE):
            await loaded

    async def run(self, script: str) -> Any:
        """Return the value of an expression, which may be a promise."""
        found = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def until(self, script: str) -> Any:
        """Return the value of an expression once it is true. No event announces what a page shows."""
        try:
            async with asyncio.timeout(_PATIENCE):
                while not (found := await self.run(script)):  # noqa: ASYNC110 -- no event announces it
                    await asyncio.sleep(_POLL)
                return found
        except TimeoutError as error:
            shown = await self.run("document.body.innerText")
            raise AssertionError(f"{script} stays false; the page shows:\n{shown}\n{self.problems}") from error

    async def text(self) -> str:
        """Return the visible text."""
        return str(await self.run("document.body.innerText"))

    async def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key."""
        about: dict[str, Any] = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": _KEYS[key]}
        typed = {"Enter": "\r", " ": " "}.get(key)
        await self.call("Input.dispatchKeyEvent", type="keyDown", modifiers=8 * shift, **about, **({"text": typed} if typed else {}))
        await self.call("Input.dispatchKeyEvent", type="keyUp", modifiers=8 * shift, **about)

    async def type(self, text: str) -> None:
        """Type a text into the element with the focus."""
        await self.call("Input.insertText", text=text)

    async def resize(self, width: int, height: int = 800) -> None:
        """Set the size of the view in CSS pixels."""
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    async def prefer(self, **features: str) -> None:
        """Set media features such as prefers_color_scheme."""
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        await self.call("Emulation.setEmulatedMedia", features=wanted)

    async def accessibility(self) -> tuple[list[Any], list[str]]:
        """Return the violations of WCAG AA and best practices, and the names of the rules that the page passes."""
        await self.run((files("axe_core_python") / "axe.min.js").read_text())
        violations, passed = await self.run(_AXE)
        return violations, passed

    async def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write a PNG of the page."""
        found = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(found["data"]))

    def note(self, method: str, parameters: dict[str, Any]) -> None:
        """Keep an error that the page reports."""
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.problems.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.problems.append(json.dumps(parameters["args"]))


class Chromium:
    """A running Chromium with a profile of its own, for the pages of several tests."""

    def __init__(self, folder: Path) -> None:
        self._port = folder / "chromium" / "DevToolsActivePort"
        sandbox = [] if os.geteuid() else ["--no-sandbox"]  # its sandbox refuses to run as root
        self._process = Process(
            [
                chromium(),
                "--headless=new",
                *sandbox,
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
                f"--user-data-dir={self._port.parent}",
                "about:blank",
            ],
            folder / "chromium.log",
            environment(HOME=str(folder)),
        )

    @property
    def url(self) -> str:
        """Return the address of its DevTools protocol."""
        number, path = self._port.read_text().splitlines()[:2]
        return f"ws://127.0.0.1:{number}{path}"

    def __enter__(self) -> Self:
        self._process.start()
        self._process.wait_until(lambda: self._port.exists() and len(self._port.read_text().splitlines()) > 1, _PATIENCE)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._process.kill()


class Browser:
    """A connection to Chromium."""

    def __init__(self, url: str) -> None:
        """Create a connection to a DevTools protocol at a URL."""
        self._url = url
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._events: list[tuple[str, str, asyncio.Future[None]]] = []
        self._pages: dict[str, Page] = {}
        self._session: ClientSession | None = None
        self._socket: ClientWebSocketResponse | None = None
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._session = ClientSession()
        self._socket = await self._session.ws_connect(self._url, max_msg_size=_MAX_MESSAGE)
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            await self._socket.close()
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def page(self, url: str, *, width: int = 1200) -> AsyncIterator[Page]:
        """Open a document in a new tab, and close that at the end of the block."""
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log"):
            await page.call(f"{domain}.enable")
        await page.resize(width)
        await page.open(url)
        try:
            yield page
        finally:
            await self.call("Target.closeTarget", targetId=target)
            del self._pages[session]

    async def call(self, method: str, session: str = "", **parameters: Any) -> Any:
        """Call a method of the protocol."""
        assert self._socket is not None
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        await self._socket.send_json(message)
        async with asyncio.timeout(_PATIENCE):
            return await answer

    def next_event(self, method: str, session: str) -> asyncio.Future[None]:
        """Return a future of the next event of a session."""
        event: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._events.append((method, session, event))
        return event

    async def _read(self) -> None:
        assert self._socket is not None
        async for message in self._socket:
            if message.type is WSMsgType.TEXT:
                self._take(json.loads(message.data))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            answer = self._answers.pop(message["id"])
            if answer.done():
                return
            if "error" in message:
                answer.set_exception(AssertionError(message["error"]))
            else:
                answer.set_result(message["result"])
            return
        method, session = message["method"], message.get("sessionId", "")
        for waiting in [one for one in self._events if one[:2] == (method, session)]:
            self._events.remove(waiting)
            if not waiting[2].done():
                waiting[2].set_result(None)
        if session in self._pages:
            self._pages[session].note(method, message["params"])
