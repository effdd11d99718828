"""How the host and apiext are reached: with the same credentials, which apiext knows by asking the host."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apiext.operator.checks.connections import trusting
from apiext.webhook import kubeconfig, service_account

if TYPE_CHECKING:
    from apiext.operator.options import Options
    from apiext.webhook.kubeconfig import Endpoint


def of_host(options: Options) -> Endpoint:
    """The host. Raises KubeconfigError."""
    return kubeconfig.load(options.kubeconfig) if options.kubeconfig else service_account.load()


def of_apiext(options: Options, authorities: str) -> Endpoint:
    """Apiext, whose certificate has the name by which kube-apiserver knows it, and is of these authorities. Raises KubeconfigError."""
    own = of_host(options)
    name = f"{options.service.name}.{options.service.namespace}.svc"
    return replace(own, url=options.server, context=trusting(authorities, own.context), server_name=name)
