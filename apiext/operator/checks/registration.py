"""What the host knows of apiext: the APIServices of a group, and the Service that they point to."""

from __future__ import annotations

import datetime
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.cert.certificate import certificates, end_of_validity
from apiext.meta import host_annotations
from apiext.operator.apiservices.plan import AUTOMANAGED
from apiext.operator.checks.snapshot import PORT, HopError, Service, bundle_of, query
from apiext.operator.checks.verdict import broken, ok, untold
from apiext.operator.group_state import condition_of, labels_of

if TYPE_CHECKING:
    from apiext.operator.api_clients import Json
    from apiext.operator.checks.snapshot import Look
    from apiext.operator.checks.verdict import Verdict

_FURTHER: Final = "with --service and --ca-file this command looks at apiext all the same"
_OPERATOR: Final = "see the log of apiext's operator, which writes APIServices"


async def pointing(look: Look, group: str) -> Verdict:
    """The APIServices of the group that proxy point to apiext, and trust its certificate."""
    found = {one["spec"]["version"]: one for one in await look.api_services(group)}
    versions = await look.versions(group)
    if not versions:
        return broken(f"the host knows no version of {group}", "check the group's name, and label its definitions")
    for version, api_service in found.items():
        name, spec = f"{version}.{group}", api_service["spec"]
        if spec.get("service") and (wrong := _misled(look, name, api_service) or _mistrusting(look, name, spec)):
            return wrong
    if missing := _unregistered(found, group, versions):
        try:
            known = bool((await look.route(group)).authority)
        except HopError:
            known = False
        return untold(missing) if known else broken(missing, f"{_OPERATOR}; {_FURTHER}")
    route = await look.route(group)
    return ok(f"{', '.join(f'{version}.{group}' for version in versions)} point to {route.service}:{route.port}")


async def registered(look: Look, group: str) -> Verdict:
    """Each version of the group is proxied."""
    found = {one["spec"]["version"]: one for one in await look.api_services(group)}
    if missing := _unregistered(found, group, await look.versions(group)):
        said = await _said(look, group)
        return broken(f"{missing}{f' (the operator: {said})' if said else ''}", _OPERATOR)
    return ok("the host proxies all versions")


async def service(look: Look, group: str) -> Verdict:
    """The Service is there, and leads somewhere."""
    route = await look.route(group)
    path = f"/api/v1/namespaces/{route.service.namespace}/services/{route.service.name}"
    answer = await look.host(path)
    if answer.code == 403:
        return untold(f"the user may not read Service {route.service}")
    if answer.code != 200:
        why = "does not exist" if answer.code == 404 else f"cannot be read: {answer}"
        return broken(f"Service {route.service} {why}", "create it, or name the right one with --service")
    spec = answer.object.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return ok(f"{route.service} is a name for {spec.get('externalName')}")
    ports = [port for port in spec.get("ports") or () if port["port"] == route.port]
    if not ports:
        has = ", ".join(str(port["port"]) for port in spec.get("ports") or ()) or "none"
        return broken(f"Service {route.service} has no port {route.port}, only {has}", "name the right one with --service-port")
    return await _endpoints(look, route.service, ports[0].get("name") or "")


async def available(look: Look, group: str) -> Verdict:
    """The host finds the APIServices available."""
    for one in await look.api_services(group):
        found, name = condition_of(one, "Available"), one["metadata"]["name"]
        if found.get("status") != "True":
            said = f"{found.get('reason', 'no condition yet')}: {found.get('message', '')}".rstrip(": ")
            return broken(
                f"the host finds {name} unavailable: {said}", "wait half a minute for the host to look again; see kube-apiserver's log"
            )
    return ok("the host finds all versions available")


def _unregistered(found: dict[str, Json], group: str, versions: list[str]) -> str:
    """What keeps versions from being proxied, empty where nothing does."""
    for version in versions:
        name = f"APIService {version}.{group}"
        if version not in found:
            return f"{name} does not exist"
        if not found[version]["spec"].get("service"):
            return f"{name} is local: the host serves the group itself"
    return ""


def _misled(look: Look, name: str, api_service: Json) -> Verdict | None:
    """What is wrong with where an APIService points to."""
    given, target = api_service["spec"]["service"], look.target
    if AUTOMANAGED in labels_of(api_service):
        return broken(
            f"APIService {name} has label {AUTOMANAGED}: the host takes it back", f"kubectl label apiservice {name} {AUTOMANAGED}-"
        )
    meant = target.service or Service(given["namespace"], given["name"])
    port = given.get("port") or PORT
    points, should = f"{given['namespace']}/{given['name']}:{port}", f"{meant}:{target.port or port}"
    if points != should:
        return broken(f"APIService {name} points to {points}, not to {should}", _OPERATOR)
    return None


def _mistrusting(look: Look, name: str, spec: Json) -> Verdict | None:
    """What is wrong with the authorities in an APIService."""
    mend = "put the authority of apiext's certificate there (--ca-file of the operator)"
    if spec.get("insecureSkipTLSVerify"):
        return broken(f"APIService {name} does not verify apiext's certificate (insecureSkipTLSVerify)", mend)
    pem = bundle_of(spec)
    ends = [end_of_validity(one) for one in certificates(pem)]
    if spec.get("caBundle") and (not ends or None in ends):
        return broken(f"the caBundle of APIService {name} cannot be read as certificates in PEM", mend)
    if ends and all(end is not None and end < datetime.datetime.now(datetime.UTC) for end in ends):
        return broken(f"the caBundle of APIService {name} ended on {ends[-1]:%Y-%m-%d %H:%M UTC}", mend)
    if not _der(look.target.authority) <= _der(pem):
        return broken(f"the caBundle of APIService {name} is not that of --ca-file", mend)
    return None


def _der(pem: str) -> set[bytes]:
    """The certificates that can be compared."""
    found = set()
    for one in certificates(pem):
        with suppress(ValueError):
            found.add(ssl.PEM_cert_to_DER_cert(one))
    return found


async def _said(look: Look, group: str) -> str:
    """What the operator says of the group."""
    for crd in await look.definitions(group):
        found = condition_of(crd, host_annotations.CONDITION)
        if found.get("status") == "False":
            return f"{found.get('reason', '')}: {found.get('message', '')}"
    return ""


async def _endpoints(look: Look, service: Service, port_name: str) -> Verdict:
    path = f"/apis/discovery.k8s.io/v1/namespaces/{service.namespace}/endpointslices"
    answer = await look.host(query(path, labelSelector=f"kubernetes.io/service-name={service.name}"))
    if answer.code != 200:
        return untold(f"the endpoints of {service} cannot be read: {answer}")
    ready = 0
    for part in answer.object.get("items") or ():
        if any((port.get("name") or "") == port_name and port.get("port") for port in part.get("ports") or ()):
            ready += sum((one.get("conditions") or {}).get("ready", True) is not False for one in part.get("endpoints") or ())
    if not ready:
        return broken(f"Service {service} has no endpoint that is ready", "see whether apiext's pods run, and have the Service's labels")
    return ok(f"{service} has {ready} endpoint{'' if ready == 1 else 's'} ready")
