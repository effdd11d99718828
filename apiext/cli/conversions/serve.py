"""`apiext convert serve`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.workers.harmless_signals import ignore_harmless_signals
from apiext.server.aiohttp_import import import_aiohttp

if TYPE_CHECKING:
    from apiext.operator.conversionserver.options import ConvertOptions


_VALUES: Final = {
    "kubeconfig": ("FILE", "Kubeconfig of the cluster (default the pod's service account)."),
    "bind-address": ("IP", "Address to listen on (default 0.0.0.0)."),
    "secure-port": ("PORT", "Port to listen on; 0 selects a free one (default 9443)."),
    "service": ("NAMESPACE/NAME", "Service by which kube-apiserver reaches this webhook."),
    "service-port": ("PORT", "Port of --service (default 443)."),
    "url": ("URL", "URL of the webhook, as https://host:port/convert, instead of --service."),
    "serving-secret": ("NAMESPACE/NAME", "Secret of the cluster with the serving certificate, and its CA as ca.crt."),
    "tls-cert-file": ("FILE", "Serving certificate, instead of --serving-secret; reloaded when the file changes."),
    "tls-private-key-file": ("FILE", "Key of --tls-cert-file."),
    "ca-file": ("FILE", "CA of --tls-cert-file for spec.conversion (default: caBundle is left to others, such as cert-manager)."),
    "tls-min-version": ("VERSION", "VersionTLS12 or VersionTLS13 (default VersionTLS12)."),
    "namespace": ("NAMESPACE", "Namespace of the lease apiext-conversions (default apiext-system)."),
    "leader-elect-lease-duration": ("DURATION", "Time without renewal after which another replica may take the lease (default 15s)."),
    "leader-elect-renew-deadline": ("DURATION", "Time without renewal after which the leader stops writing (default 10s)."),
    "leader-elect-retry-period": ("DURATION", "Time between attempts to acquire or renew the lease (default 2s)."),
    "shutdown-delay-duration": ("DURATION", "Time to serve after SIGTERM with a failing readyz (default 0s)."),
}
_DEFAULTS: Final = {
    "namespace": "apiext-system",
    "leader-elect-lease-duration": "15s",
    "leader-elect-renew-deadline": "10s",
    "leader-elect-retry-period": "2s",
}
FLAGS: Final = [
    *(click.Option([f"--{name}"], metavar=kind, default=_DEFAULTS.get(name), help=text) for name, (kind, text) in _VALUES.items()),
    click.Option(
        ["--manage-serving-secret/--no-manage-serving-secret"],
        default=False,
        help="Create --serving-secret, and renew its certificates (default false).",
    ),
    click.Option(
        ["--leader-elect/--no-leader-elect"],
        default=True,
        help="Write to the cluster only while this replica holds the lease (default true).",
    ),
    click.Option(["-v", "--v", "v"], metavar="N", default="0", help="Log verbosity; from 2 on, actions are logged (default 0)."),
]


@click.command(params=FLAGS, short_help="Serve the conversion webhook of a cluster.")
def serve(**flags: Any) -> None:
    """Serve the conversion webhook of a cluster by its Conversion objects.

    CRDs with the annotation conversion.apiext.dev/strategy=webhook get it as spec.conversion. Runs until SIGTERM or SIGINT. All
    replicas convert; only the leader writes to the cluster.
    """
    begin = time.perf_counter()
    from apiext.base.meta.flags import OptionsError

    # the options' modules import aiohttp
    import_aiohttp()
    from apiext.operator.conversionserver.options import read_options

    try:
        options = read_options(flags)
    except OptionsError as error:
        raise click.UsageError("\n".join(error.problems)) from error
    _run(options, begin)


def _run(options: ConvertOptions, begin: float) -> None:
    import uvloop

    from apiext.operator.conversionserver.lifecycle import serve_conversions
    from apiext.server.observability.log_output import configure_logging
    from apiext.server.start_error import StartError

    ignore_harmless_signals()
    configure_logging(options.verbosity)

    def started(facts: dict[str, str]) -> None:
        lines = [f"  {name:12}{text}" for name, text in facts.items()]
        click.echo("\n".join([f"apiext converts ({time.perf_counter() - begin:.2f} s). Ctrl-C stops it.", *lines]))

    try:
        uvloop.run(serve_conversions(options, started=started))
    except StartError as error:
        raise click.ClickException(str(error)) from error
