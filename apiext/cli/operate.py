"""`apiext operate`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.meta.host_annotations import SERVE_SELECTOR
from apiext.base.workers.harmless_signals import ignore_harmless_signals
from apiext.server.aiohttp_import import import_aiohttp

if TYPE_CHECKING:
    from apiext.operator.options import OperatorOptions


def _text(name: str, kind: str, default: str, text: str) -> click.Option:
    return click.Option([f"--{name}"], metavar=kind, default=default, help=f"{text[:-1]} (default {default})." if default else text)


def _switch(names: str, text: str, *, default: bool) -> click.Option:
    return click.Option([f"--{names}"], default=default, help=f"{text[:-1]} (default {str(default).lower()}).")


_FLAGS: Final = [
    _text("kubeconfig", "FILE", "", "Kubeconfig of the host cluster, also used for apiext (default the pod's service account)."),
    _text("crd-selector", "SELECTOR", SERVE_SELECTOR, "Labels of the host's CRDs that apiext serves; empty for all."),
    _text("service", "NAMESPACE/NAME", "", "Service by which the host reaches apiext."),
    _text("service-port", "PORT", "443", "Port of --service."),
    _text("server", "URL", "", "URL of apiext for the operator (default https://NAME.NAMESPACE.svc:PORT of --service)."),
    _text("ca-file", "FILE", "", "CA of apiext's certificate, reloaded when the file changes (default the system's authorities)."),
    _text("serving-secret", "NAMESPACE/NAME", "", "Secret of the host with the CA as ca.crt, instead of --ca-file."),
    _switch("manage-serving-secret/--no-manage-serving-secret", "Create --serving-secret, and renew its certificates.", default=False),
    _switch("leader-elect/--no-leader-elect", "Reconcile only while this operator holds the lease.", default=True),
    _text("namespace", "NAMESPACE", "apiext-system", "Namespace of the lease apiext-operator."),
    _text("leader-elect-lease-duration", "DURATION", "15s", "Time without renewal after which another operator may take the lease."),
    _text("leader-elect-renew-deadline", "DURATION", "10s", "Time without renewal after which the leader stops reconciling."),
    _text("leader-elect-retry-period", "DURATION", "2s", "Time between attempts to acquire or renew the lease."),
    _text("host-etcd-servers", "URLS", "", "The host's etcd, as https://host:port,...; handover writes objects there."),
    _text("host-etcd-prefix", "PREFIX", "/registry", "Prefix of the host's keys."),
    _text("host-etcd-cafile", "FILE", "", "CA of the host's etcd."),
    _text("host-etcd-certfile", "FILE", "", "Client certificate for the host's etcd."),
    _text("host-etcd-keyfile", "FILE", "", "Key of --host-etcd-certfile."),
    _text("host-encryption-provider-config", "FILE", "", "EncryptionConfiguration of the host, if it encrypts objects of the CRDs."),
    _text("metrics-bind-address", "IP:PORT", "", "Address of /healthz, /readyz and /metrics, without TLS and credentials (default none)."),
    click.Option(["-v", "--v", "v"], metavar="N", default="0", help="Log verbosity; from 2 on, actions are logged (default 0)."),
]


@click.command(params=_FLAGS, short_help="Register apiext with a cluster, and adopt its CRDs.")
def operate(**flags: Any) -> None:
    """Register apiext with a host cluster, and adopt the selected CRDs.

    Runs until SIGTERM or SIGINT. Of several operators only the leader reconciles.
    """
    begin = time.perf_counter()
    from apiext.base.meta.flags import OptionsError
    from apiext.operator.options import read_options

    try:
        options = read_options(flags)
    except OptionsError as error:
        raise click.UsageError("\n".join(error.problems)) from error
    _run(options, begin)


def _run(options: OperatorOptions, begin: float) -> None:
    import uvloop

    ignore_harmless_signals()
    import_aiohttp()
    from functools import partial

    from apiext.operator.lifecycle import OperatorStartError
    from apiext.operator.lifecycle import operate as operate_until_stopped
    from apiext.server.observability.log_output import configure_logging
    from apiext.server.start_error import StartError

    configure_logging(options.verbosity)

    def started(facts: dict[str, str]) -> None:
        lines = [f"  {name:12}{text}" for name, text in facts.items()]
        click.echo("\n".join([f"apiext operates ({time.perf_counter() - begin:.2f} s). Ctrl-C stops it.", *lines]))

    endpoints = None
    if options.metrics_address is not None:
        from apiext.operator.probes.listener import status_endpoints

        endpoints = partial(status_endpoints, options.metrics_address)
    try:
        uvloop.run(operate_until_stopped(options, started=started, endpoints=endpoints))
    except (OperatorStartError, StartError) as error:
        raise click.ClickException(str(error)) from error
