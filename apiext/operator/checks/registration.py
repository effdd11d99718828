"""Checks of the APIServices of a group, and of the Service that they point to."""

from __future__ import annotations

import datetime
import ssl
from contextlib import suppress
from typing import Final
from urllib.parse import urlencode

from apiext.base.cert.certificate import certificates, end_of_validity
from apiext.base.meta import host_annotations
from apiext.base.texts import counted
from apiext.operator.api_clients import Json
from apiext.operator.apiservice_owner import AUTOMANAGED
from apiext.operator.checks.snapshot import PORT, CheckError, Snapshot, bundle_of
from apiext.operator.checks.verdict import CheckVerdict, broken, ok, unknown
from apiext.operator.group_state import condition_of, labels_of
from apiext.operator.names import NamespacedName

_TRY_FLAGS: Final = "with --service and --ca-file this command looks at apiext all the same"
_SEE_OPERATOR: Final = "see the log of apiext's operator, which writes APIServices"


async def pointing(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that the APIServices of the group point to apiext, and trust its certificate."""
    found = {one["spec"]["version"]: one for one in await snapshot.api_services(group)}
    versions = await snapshot.versions(group)
    if not versions:
        return broken(f"the host knows no version of {group}", "check the group's name, and label its definitions")
    for version, api_service in found.items():
        name, spec = f"{version}.{group}", api_service["spec"]
        if spec.get("service") and (wrong := _wrong_service(snapshot, name, api_service) or _wrong_ca_bundle(snapshot, name, spec)):
            return wrong
    if missing := _unregistered(found, group, versions):
        try:
            known = bool((await snapshot.route(group)).authority)
        except CheckError:
            known = False
        return unknown(missing) if known else broken(missing, f"{_SEE_OPERATOR}; {_TRY_FLAGS}")
    route = await snapshot.route(group)
    return ok(f"{', '.join(f'{version}.{group}' for version in versions)} point to {route.service}:{route.port}")


async def registered(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that the host proxies each version of the group."""
    found = {one["spec"]["version"]: one for one in await snapshot.api_services(group)}
    if missing := _unregistered(found, group, await snapshot.versions(group)):
        said = await _reported(snapshot, group)
        return broken(f"{missing}{f' (the operator: {said})' if said else ''}", _SEE_OPERATOR)
    return ok("the host proxies all versions")


async def service(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that the Service exists, and has endpoints."""
    route = await snapshot.route(group)
    path = f"/api/v1/namespaces/{route.service.namespace}/services/{route.service.name}"
    answer = await snapshot.host(path)
    if answer.code == 403:
        return unknown(f"the user may not read Service {route.service}")
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
    return await _endpoints(snapshot, route.service, ports[0].get("name") or "")


async def available(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that the host reports the APIServices as available."""
    for one in await snapshot.api_services(group):
        found, name = condition_of(one, "Available"), one["metadata"]["name"]
        if found.get("status") != "True":
            said = f"{found.get('reason', 'no condition yet')}: {found.get('message', '')}".rstrip(": ")
            return broken(
                f"the host finds {name} unavailable: {said}", "wait half a minute for the host to look again; see kube-apiserver's log"
            )
    return ok("the host finds all versions available")


def _unregistered(found: dict[str, Json], group: str, versions: list[str]) -> str:
    """Return the reason why a version is not proxied, empty if all are proxied."""
    for version in versions:
        name = f"APIService {version}.{group}"
        if version not in found:
            return f"{name} does not exist"
        if not found[version]["spec"].get("service"):
            return f"{name} is local: the host serves the group itself"
    return ""


def _wrong_service(snapshot: Snapshot, name: str, api_service: Json) -> CheckVerdict | None:
    """Return the verdict of an APIService that points elsewhere, None if it points to apiext."""
    given, target = api_service["spec"]["service"], snapshot.target
    if AUTOMANAGED in labels_of(api_service):
        return broken(
            f"APIService {name} has label {AUTOMANAGED}: the host takes it back", f"kubectl label apiservice {name} {AUTOMANAGED}-"
        )
    meant = target.service or NamespacedName(given["namespace"], given["name"])
    port = given.get("port") or PORT
    points, should = f"{given['namespace']}/{given['name']}:{port}", f"{meant}:{target.port or port}"
    if points != should:
        return broken(f"APIService {name} points to {points}, not to {should}", _SEE_OPERATOR)
    return None


def _wrong_ca_bundle(snapshot: Snapshot, name: str, spec: Json) -> CheckVerdict | None:
    """Return the verdict of an APIService with wrong authorities, None if they are right."""
    remedy = "put the authority of apiext's certificate there (--ca-file of the operator)"
    if spec.get("insecureSkipTLSVerify"):
        return broken(f"APIService {name} does not verify apiext's certificate (insecureSkipTLSVerify)", remedy)
    pem = bundle_of(spec)
    ends = [end_of_validity(one) for one in certificates(pem)]
    if spec.get("caBundle") and (not ends or None in ends):
        return broken(f"the caBundle of APIService {name} cannot be read as certificates in PEM", remedy)
    if ends and all(end is not None and end < datetime.datetime.now(datetime.UTC) for end in ends):
        return broken(f"the caBundle of APIService {name} ended on {ends[-1]:%Y-%m-%d %H:%M UTC}", remedy)
    if not _der(snapshot.target.authority) <= _der(pem):
        return broken(f"the caBundle of APIService {name} is not that of --ca-file", remedy)
    return None


def _der(pem: str) -> set[bytes]:
    """Return the readable certificates of a PEM text in DER form."""
    found = set()
    for one in certificates(pem):
        with suppress(ValueError):
            found.add(ssl.PEM_cert_to_DER_cert(one))
    return found


async def _reported(snapshot: Snapshot, group: str) -> str:
    """Return the operator's condition of the group, empty if it is True or missing."""
    for crd in await snapshot.definitions(group):
        found = condition_of(crd, host_annotations.CONDITION)
        if found.get("status") == "False":
            return f"{found.get('reason', '')}: {found.get('message', '')}"
    return ""


async def _endpoints(snapshot: Snapshot, service: NamespacedName, port_name: str) -> CheckVerdict:
    selector = urlencode({"labelSelector": f"kubernetes.io/service-name={service.name}"})
    answer = await snapshot.host(f"/apis/discovery.k8s.io/v1/namespaces/{service.namespace}/endpointslices?{selector}")
    if answer.code != 200:
        return unknown(f"the endpoints of {service} cannot be read: {answer}")
    ready = 0
    for part in answer.object.get("items") or ():
        if any((port.get("name") or "") == port_name and port.get("port") for port in part.get("ports") or ()):
            ready += sum((one.get("conditions") or {}).get("ready", True) is not False for one in part.get("endpoints") or ())
    if not ready:
        return broken(f"Service {service} has no endpoint that is ready", "see whether apiext's pods run, and have the Service's labels")
    return ok(f"{service} has {counted(ready, 'endpoint')} ready")
