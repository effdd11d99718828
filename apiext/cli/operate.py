"""`apiext operate`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.meta.host_annotations import SERVE_SELECTOR

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.operator.options import OperatorOptions

_HOST: Final = (
    (
        "kubeconfig",
        "FILE",
        "",
        "Kubeconfig of the host cluster, also used for apiext (default the pod's service account).",
    ),
    ("crd-selector", "SELECTOR", SERVE_SELECTOR, "Labels of the host's CRDs that apiext serves; empty for all."),
    ("service", "NAMESPACE/NAME", "", "Service by which the host reaches apiext."),
    ("service-port", "PORT", "443", "Port of --service."),
    ("server", "URL", "", "URL of apiext for the operator (default https://NAME.NAMESPACE.svc:PORT of --service)."),
    ("ca-file", "FILE", "", "CA of apiext's certificate, reloaded when the file changes (default the system's authorities)."),
    ("serving-secret", "NAMESPACE/NAME", "", "Secret of the host with the CA as ca.crt, instead of --ca-file."),
)
_MANAGE: Final = ("manage-serving-secret/--no-manage-serving-secret", False, "Create --serving-secret, and renew its certificates.")
_LEADER_ELECT: Final = ("leader-elect/--no-leader-elect", True, "Reconcile only while this operator holds the lease.")
_LEASE: Final = (
    ("namespace", "NAMESPACE", "apiext-system", "Namespace of the lease apiext-operator."),
    ("leader-elect-lease-duration", "DURATION", "15s", "Time without renewal after which another operator may take the lease."),
    ("leader-elect-renew-deadline", "DURATION", "10s", "Time without renewal after which the leader stops reconciling."),
    ("leader-elect-retry-period", "DURATION", "2s", "Time between attempts to acquire or renew the lease."),
)
_ETCD: Final = (
    ("host-etcd-servers", "URLS", "", "The host's etcd, as https://host:port,...; handover writes objects there."),
    ("host-etcd-prefix", "PREFIX", "/registry", "Prefix of the host's keys."),
    ("host-etcd-cafile", "FILE", "", "CA of the host's etcd."),
    ("host-etcd-certfile", "FILE", "", "Client certificate for the host's etcd."),
    ("host-etcd-keyfile", "FILE", "", "Key of --host-etcd-certfile."),
)


def _flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all flags to a command, in the order of --help."""
    options = [
        *(_text(*flag) for flag in _HOST),
        _switch(*_MANAGE),
        _switch(*_LEADER_ELECT),
        *(_text(*flag) for flag in (*_LEASE, *_ETCD)),
        _text("v", "N", "0", "Log verbosity; from 2 on, actions are logged."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _text(name: str, kind: str, default: str, text: str) -> Callable[..., Any]:
    names = ("-v", "--v", "v") if name == "v" else (f"--{name}",)
    return click.option(*names, metavar=kind, default=default, help=f"{text[:-1]} (default {default})." if default else text)


def _switch(names: str, default: bool, text: str) -> Callable[..., Any]:  # noqa: FBT001 -- a row of the tables above
    return click.option(f"--{names}", default=default, help=f"{text[:-1]} (default {str(default).lower()}).")


@click.command()
@_flags
def operate(**flags: Any) -> None:
    """Register apiext with a host cluster, and adopt the selected CRDs.

    Runs until SIGTERM or SIGINT. Of several operators only the leader reconciles.
    """
    begin = time.perf_counter()
    from apiext.meta.flags import OptionsError
    from apiext.operator.options import read_options

    try:
        options = read_options(flags)
    except OptionsError as error:
        raise click.UsageError("\n".join(error.problems)) from error
    _run(options, begin)


def _run(options: OperatorOptions, begin: float) -> None:
    import uvloop

    from apiext.operator.lifecycle import OperatorStartError
    from apiext.operator.lifecycle import operate as operate_until_stopped
    from apiext.server.log_output import configure_logging

    configure_logging(options.verbosity)

    def started(facts: dict[str, str]) -> None:
        lines = [f"  {name:12}{text}" for name, text in facts.items()]
        click.echo("\n".join([f"apiext operates ({time.perf_counter() - begin:.2f} s). Ctrl-C stops it.", *lines]))

    try:
        uvloop.run(operate_until_stopped(options, started=started))
    except OperatorStartError as error:
        raise click.ClickException(str(error)) from error
