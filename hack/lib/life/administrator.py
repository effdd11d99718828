"""The administrator of the definition: changes it, migrates its objects, and repeats requests that killed programs did not answer."""

import http
import itertools
from collections.abc import Callable
from typing import Any, Final

from apiext.resources.conversion.rules.definition import conversion_definition
from hack.lib.life.chapters import Chapter
from hack.lib.life.clients import Fields
from hack.lib.life.definition import GROUP, NAME, PLURAL, conversion, path
from hack.lib.life.deployments import Deployment
from hack.lib.life.time_limits import TimeLimits
from hack.lib.life.transcript import BELL
from hack.lib.servers.aggregated_cluster import CRDS
from hack.lib.soak.attack import MERGE_PATCH
from hack.lib.waiting import until

_CONVERSIONS: Final = "/apis/conversions.apiext.dev/v1alpha1/conversions"
_MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"


class Administrator:
    """Brings the definition of a deployment into the state of a chapter."""

    def __init__(self, deployment: Deployment, limits: TimeLimits) -> None:
        self._deployment = deployment
        self._limits = limits
        self._migrations = itertools.count(1)
        self._rings = itertools.count(1)

    def begin(self, chapter: Chapter) -> None:
        """Write the definition, and wait until clients may use the versions of the chapter.

        Raises:
            AssertionError: The definition is refused, or its objects are not served in time.
        """
        if self._deployment.has_rules:
            self._wait(lambda: self._create(CRDS, conversion_definition()), "the definition of Conversions")
            self._wait(lambda: self._create(_CONVERSIONS, conversion()), "the Conversion")
        wanted = chapter.crd(None if self._deployment.has_rules else self._deployment.webhook.client_config())
        self._wait(lambda: self._write(wanted), f"definition of: {chapter.title}")
        self._wait(lambda: self._deployment.follows(self._found()["spec"]), "the mirror")
        self._wait(lambda: all(self._serves(version) for version in chapter.served), f"versions of: {chapter.title}")

    def finish(self, chapter: Chapter) -> None:
        """Migrate if the chapter requires it, and wait until the stored versions are those of the chapter.

        Raises:
            AssertionError: The migration fails, or the stored versions are others.
        """
        if chapter.migrates:
            self._migrate(chapter.storage)
        self._wait(lambda: tuple(self._found()["status"]["storedVersions"]) == chapter.stored, f"stored versions of: {chapter.title}")

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        until(condition, what, patience=self._limits.left())

    def _create(self, collection: str, wanted: Any) -> bool:
        """Create an object unless it exists. Report whether it does."""
        code, _ = self._deployment.admin.ask("POST", collection, wanted)
        return code in (http.HTTPStatus.CREATED, http.HTTPStatus.CONFLICT)

    def _write(self, wanted: Any) -> bool:
        code, found = self._deployment.admin.ask("GET", f"{CRDS}/{NAME}")
        if code == http.HTTPStatus.NOT_FOUND:
            code, found = self._deployment.admin.ask("POST", CRDS, wanted)
        elif code == http.HTTPStatus.OK and found["spec"] != (spec := found["spec"] | wanted["spec"]):
            code, found = self._deployment.admin.ask("PUT", f"{CRDS}/{NAME}", found | {"spec": spec})
        return _accepted(code, found)

    def _migrate(self, version: str) -> None:
        name = f"life-{next(self._migrations)}"
        spec = {"resource": {"group": GROUP, "resource": PLURAL}}
        body = {"apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration", "metadata": {"name": name}, "spec": spec}
        ask = self._deployment.admin.ask
        self._wait(lambda: _accepted(*ask("POST", _MIGRATIONS, body), also=http.HTTPStatus.CONFLICT), "the start of the migration")

        def has_succeeded() -> bool:
            ask("PATCH", path(version, BELL), {"spec": {"counter": next(self._rings)}}, MERGE_PATCH.items())
            code, found = ask("GET", f"{_MIGRATIONS}/{name}")
            return code == http.HTTPStatus.OK and _succeeded(found)

        self._wait(has_succeeded, "the migration")

    def _found(self) -> Any:
        code, found = self._deployment.admin.ask("GET", f"{CRDS}/{NAME}")
        if code != http.HTTPStatus.OK:
            raise OSError(found)
        return found

    def _serves(self, version: str) -> bool:
        """Report whether objects can be read and written in a version. A host writes nothing before it proxies to apiext."""
        ask = self._deployment.admin.ask
        found = ask("GET", f"{path(version)}?limit=1")[0]
        return (found, ask("POST", f"{path(version)}?dryRun=All", Fields().body("probe", version))[0]) == (200, 201)


def _succeeded(migration: Any) -> bool:
    conditions = {one["type"]: one for one in migration.get("status", {}).get("conditions", [])}
    assert conditions.get("Failed", {}).get("status") != "True", conditions
    return bool(conditions.get("Succeeded", {}).get("status") == "True")


def _accepted(code: int, answer: Any, *, also: int = 0) -> bool:
    """Report whether a write took effect; after a server error or a conflict the caller repeats it."""
    assert code < http.HTTPStatus.BAD_REQUEST or code in {also, http.HTTPStatus.CONFLICT} or code >= http.HTTPStatus.TOO_MANY_REQUESTS, (
        answer
    )
    return code < http.HTTPStatus.BAD_REQUEST or code == also
