"""A cluster with the webhooks of real projects, which both kube-apiserver and apiext call."""

from functools import partial
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from hack.lib.definitions import date_back
from hack.lib.real_crds import real_crds
from hack.lib.servers.aggregated_cluster import CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_operator import QUICK_ELECTION
from hack.lib.waiting import until
from tests.e2e.adopted_group import JSON_PATCH
from tests.e2e.projects.project import Json, Project
from tests.support.admission_webhook import AdmissionCall, AdmissionWebhook
from tests.support.builders.admission import collection
from tests.support.conversion_webhook import ConversionWebhook, converting

_CONVERSIONS: Final = "conversions"


class GuardedCluster(AggregatedCluster):
    """A cluster that can install projects. All their webhook servers are one process, `hooks`; it converts objects, too."""

    def __init__(self, folder: Path, *projects: Project, convert: Any = None, **options: Any) -> None:
        self._projects = projects
        services = [project.service for project in projects]
        names = [f"{name}.{namespace}.svc" for namespace, _, name in (service.partition("/") for service in services)]
        self.hooks = AdmissionWebhook(folder, hosts=["localhost", "127.0.0.1", *names])
        self.hooks.answer = self._answer
        self._converter = ConversionWebhook(folder, answer=converting(convert) if convert else None, hosts=[f"{_CONVERSIONS}.default.svc"])
        addresses = {f"default/{_CONVERSIONS}": self._converter.port, **dict.fromkeys(services, self.hooks.port)}
        super().__init__(
            folder,
            selector=SELECTOR,
            host_etcd=True,
            serve_args=[f"--service-address={service}=127.0.0.1:{port}" for service, port in addresses.items()],
            operate_args=QUICK_ELECTION,
            **options,
        )

    def __enter__(self) -> Self:
        """Start all programs, and create the projects' definitions, Services and configurations."""
        super().__enter__()
        try:
            self._serve(f"default/{_CONVERSIONS}")
            for project in self._projects:
                self._serve(project.service)
                if project.folder:
                    self._define(project)
            for project in self._projects:
                self.guard(project)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        super().__exit__()
        self.hooks.close()
        self._converter.close()

    def definitions(self, group: str) -> list[str]:
        """Return the names of the definitions of a group."""
        found = self.host.must("GET", CRDS)["items"]
        return [crd["metadata"]["name"] for crd in found if crd["spec"]["group"] == group]

    def guard(self, project: Project) -> None:
        """Create the webhook configurations of a project."""
        namespace, _, name = project.service.partition("/")

        def config(path: str) -> Json:
            service = {"namespace": namespace, "name": name, "path": path, "port": self.hooks.port}
            return {"service": service, "caBundle": self.hooks.ca_bundle}

        for configuration in project.configurations(config):
            self.host.must("POST", collection(configuration["kind"]), configuration)

    def _serve(self, service: str) -> None:
        namespace, _, name = service.partition("/")
        self.host.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        spec = {"type": "ExternalName", "externalName": "localhost"}
        self.host.must("POST", f"/api/v1/namespaces/{namespace}/services", {"metadata": {"name": name}, "spec": spec})

    def _define(self, project: Project) -> None:
        """Create the definitions of the project's group, which serve at once."""
        names = {f"{plural}.{project.group}" for plural in project.plurals}
        found = [crd for crd in real_crds(project.folder) if crd["metadata"]["name"] in names]
        for crd in found:
            if (crd["spec"].get("conversion") or {}).get("strategy") == "Webhook":
                service = self._converter.service(_CONVERSIONS)
                service["service"]["port"] = self._converter.port
                crd["spec"]["conversion"] = self._converter.conversion(**service)
            self.host.must("POST", CRDS, crd)
        for crd in found:
            path, version = f"{CRDS}/{crd['metadata']['name']}", crd["spec"]["versions"][0]["name"]
            until(lambda crd=crd, version=version: self._is_served(crd, version))  # type: ignore[misc]
            self.host.must("PATCH", f"{path}/status", date_back(partial(self.host.must, "GET", path)), JSON_PATCH)

    def _is_served(self, crd: Json, version: str) -> bool:
        return self.host.ask("GET", f"/apis/{crd['spec']['group']}/{version}/{crd['spec']['names']['plural']}")[0] == 200

    def _answer(self, call: AdmissionCall) -> Any:
        for project in self._projects:
            if answer := project.answers.get(urlsplit(call.path).path):
                return answer(call)
        raise AssertionError(f"no project has a webhook {call.path}")
