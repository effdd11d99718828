"""Memory of refused requests."""

import asyncio
import gc
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.builders.crds import widget
from tests.support.servers.in_process import CRDS, InProcess

_PATH: Final = "/apis/example.com/v1/namespaces/default/widgets"
_MERGE: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_YAML: Final = "application/yaml"


def _refused(text: str) -> Iterator[tuple[str, str, Any, str]]:
    """Yield method, path, body and media type of requests that are refused, with a text in their bodies."""
    json = "application/json"
    for body in (
        *(f'{{"a":"{text}', f'{{"a":{text}}}', "[" * 300 + text, f'{{"a":1e999,"b":"{text}"}}', f'{{"a":"\\ud800{text}"}}'),
        *(
            widget(text.upper()),
            widget("a") | {"kind": text},
            widget("a", metadata={"name": {text: 1}}),
            widget("a", metadata={"labels": text}),
        ),
        *(widget("a"), widget("b") | {text: 1}),
    ):
        yield "POST", f"{_PATH}?fieldValidation=Strict", body, json
    for body in (f"a: [{text}", f"a: *{text}", f"!!int {text}"):
        yield "POST", _PATH, body, _YAML
    for metadata in ({"name": text}, {"resourceVersion": "1"}, {"uid": text}, {}):
        yield "PUT", f"{_PATH}/a", widget("a", metadata={"annotations": {"a": text}} | metadata), json
    for body in ({"metadata": {"labels": text}}, f'{{"a":"{text}', {"metadata": {"name": text}}):
        yield "PATCH", f"{_PATH}/a", body, _MERGE
        yield "PATCH", f"{_PATH}/none", body, _MERGE
    for operation in ({"op": "test", "path": "/a", "value": text}, {"op": "add", "path": "/metadata/labels", "value": text}):
        yield "PATCH", f"{_PATH}/a", [operation], _JSON_PATCH
    for options in ({"propagationPolicy": text}, {"preconditions": {"uid": text}}, {"gracePeriodSeconds": text}):
        yield "DELETE", f"{_PATH}/a", {"kind": "DeleteOptions", "apiVersion": "v1"} | options, json
    yield "DELETE", f"{_PATH}/a", {"kind": text, "apiVersion": "v1"}, json
    yield "POST", CRDS, {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": text}}, json


@pytest.fixture
def frozen_garbage() -> Iterator[None]:
    """Keep what existed before the test out of its collections."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize("size", [10, 300_000])
@pytest.mark.usefixtures("frozen_garbage")
async def test_errors_leave_no_cycles(widgets: InProcess, size: int) -> None:
    """Free the memory of a refused request at its end, on the event loop or in a worker process, without the garbage collector."""
    await widgets.ask("POST", _PATH, widget("a"))
    found = []
    for method, path, body, media_type in _refused("x" * size):
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            answer = await widgets.ask(method, path, body, Content_Type=media_type)
            # the task of the request ends after the response
            for _ in range(10):
                await asyncio.sleep(0)
            gc.collect()
            cyclic = [type(item).__name__ for item in gc.garbage if isinstance(item, BaseException)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
        assert answer.status >= 400, f"{method} {path} {str(body)[:100]}: {answer.status}"
        if cyclic:
            found.append(f"{method} {path} {str(body)[:100]}: {answer.message[:100]}: {cyclic}")

    assert not found, "\n".join(found)
