"""The definition of a suite on its server: installed, patched, restored, replaced and removed."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding import json_values
from apiext.base.meta.errors import StatusError
from apiext.base.meta.patch import json_patch, parse_json_patch
from apiext.resources.evaluation.definition_creation import parse_definition
from apiext.tools.releases.cluster_connection import DEFINITIONS
from apiext.tools.releases.object_pages import object_key
from apiext.tools.replay.server_client import MERGE_PATCH, RefusedError, object_path
from apiext.tools.suites.model import SuiteError
from apiext.tools.suites.resource_client import NO_FINALIZERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.server_client import ServerClient

_GVK: Final = CUSTOM_RESOURCE_DEFINITIONS.kind
_DEADLINE_SECONDS: Final = 30.0
_JSON_PATCH: Final = "application/json-patch+json"
_NOT_FOUND: Final = 404


class DefinitionError(Exception):
    """The server does not take the definition. The message is the server's."""


class InstalledDefinition:
    """Keeps one definition on a server: the former one is removed first, unless it is the same.

    Raises:
        DefinitionError: from every method, if the server refuses the definition.
        ReplayError: from every method, if the server does not answer.
    """

    def __init__(self, server: ServerClient) -> None:
        self._server = server
        self._crd: Object | None = None
        self._refused: tuple[Object, str] | None = None

    async def install(self, crd: Object) -> None:
        """Create a definition and wait until it is established. Keep the one that is there if it has the same spec.

        A definition that was refused is refused again without a request.
        """
        if self._crd is not None and json_values.equal(self._crd["spec"], crd["spec"]):
            return
        if self._refused is not None and json_values.equal(self._refused[0], crd):
            raise DefinitionError(self._refused[1])
        await self.remove()
        try:
            await self._send("POST", DEFINITIONS, crd)
        except DefinitionError as error:
            self._refused = crd, str(error)
            raise
        self._crd = crd
        await _until(lambda: self._is_established(crd["metadata"]["name"]))

    async def remove(self) -> None:
        """Delete the definition with its objects, and wait until it is gone."""
        if self._crd is None:
            return
        name, self._crd = self._crd["metadata"]["name"], None
        await self._send("DELETE", f"{DEFINITIONS}/{name}")
        if not await self._is_gone(name):
            await self._drop_finalizers(name)
            await _until(lambda: self._is_gone(name))

    async def current(self, name: str) -> Object:
        """Return the definition as the server has it."""
        return await self._send("GET", f"{DEFINITIONS}/{name}")

    async def replace(self, name: str, spec: Object) -> Object:
        """Replace the spec of the definition; return the answer. It is served at once."""
        # the next `install` finds another definition
        self._crd = {"metadata": {"name": name}, "spec": None}
        patch = [{"op": "replace", "path": "/spec", "value": spec}]
        return await self._send("PATCH", f"{DEFINITIONS}/{name}", patch, content=_JSON_PATCH)

    def restored(self, crd: Object) -> None:
        """Note that the definition is again as it was installed."""
        self._crd = crd

    async def _is_established(self, name: str) -> bool:
        conditions = {each["type"]: each for each in (await self.current(name)).get("status", {}).get("conditions") or ()}
        accepted = conditions.get("NamesAccepted", {})
        if accepted.get("status") == "False":
            raise DefinitionError(f"names are not accepted: {accepted.get('message')}")
        return bool(conditions.get("Established", {}).get("status") == "True")

    async def _is_gone(self, name: str) -> bool:
        try:
            await self._server.ask("GET", f"{DEFINITIONS}/{name}")
        except RefusedError as error:
            return error.code == _NOT_FOUND
        return False

    async def _drop_finalizers(self, name: str) -> None:
        """Remove the finalizers of the objects of a definition, which would keep it."""
        # what is gone meanwhile, or cannot be converted, has no finalizers that could be removed
        with suppress(RefusedError, DefinitionError):
            spec = (await self.current(name))["spec"]
            version = next(each["name"] for each in spec["versions"] if each["storage"])
            root = f"/apis/{spec['group']}/{version}"
            for obj in (await self._server.ask("GET", f"{root}/{spec['names']['plural']}")).get("items") or ():
                if obj["metadata"].get("finalizers"):
                    path = object_path(parse_definition(await self.current(name)), version, object_key(obj))
                    await self._server.ask("PATCH", path, NO_FINALIZERS, content=MERGE_PATCH)

    async def _send(self, method: str, path: str, body: Any = None, *, content: str = "application/json") -> Object:
        try:
            return await self._server.ask(method, path, body, content=content)
        except RefusedError as error:
            raise DefinitionError(str(error)) from error


def single_version(crd: Object, version: str) -> Object:
    """Return a definition with one version alone, served and stored. `version` may be empty if there is only one, which stays as it is.

    Raises:
        SuiteError: the definition does not have the version, or several and none is named.
    """
    versions: Sequence[Object] = crd["spec"].get("versions") or ()
    if not version:
        if len(versions) != 1:
            raise SuiteError(f"too many versions, specify one in the suite: {', '.join(str(each.get('name')) for each in versions)}")
        version = versions[0]["name"]
    found = [each | {"storage": True, "served": True} for each in versions if each.get("name") == version]
    if not found:
        raise SuiteError(f"could not find CRD version matching version {version}")
    return crd | {"spec": crd["spec"] | {"versions": found}}


def patched_spec(crd: Object, operations: Any) -> Object:
    """Return the spec of a manifest after a JSON patch.

    Raises:
        DefinitionError: the patch does not apply.
    """
    try:
        patched: Object = json_patch(crd, parse_json_patch(operations, strict=False)[0])
    except StatusError as error:
        raise DefinitionError(f"could not apply patch: {error.message}") from error
    spec: Object = patched["spec"]
    return spec


def with_webhook(crd: Object, conversion: Mapping[str, Any]) -> Object:
    """Return a definition whose webhook is that of the suite, if it has strategy Webhook and the suite names one.

    Raises:
        SuiteError: the CA cannot be read.
    """
    own = crd["spec"].get("conversion") or {}
    if not conversion or own.get("strategy") != "Webhook":
        return crd
    config = {"url": conversion["webhookURL"]}
    if "caFile" in conversion:
        try:
            config["caBundle"] = base64.b64encode(Path(conversion["caFile"]).read_bytes()).decode()
        except OSError as error:
            raise SuiteError(f"{conversion['caFile']}: {error.strerror}") from error
    webhook = {"conversionReviewVersions": ["v1"]} | (own.get("webhook") or {}) | {"clientConfig": config}
    return crd | {"spec": crd["spec"] | {"conversion": own | {"webhook": webhook}}}


def as_sent(crd: Object) -> Object:
    """Return a manifest as it is created: without status and what servers set."""
    kept = ("name", "labels", "annotations")
    metadata = {name: value for name, value in (crd.get("metadata") or {}).items() if name in kept}
    return {
        "apiVersion": _GVK.api_version,
        "kind": _GVK.kind,
        "metadata": metadata,
        "spec": crd["spec"],
    }


async def _until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Ask again and again: each answer takes less than a millisecond, and the first or second is the last."""
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            while not await is_so():
                continue
    except TimeoutError as error:
        raise DefinitionError(f"nothing happened for {_DEADLINE_SECONDS:.0f} s") from error
