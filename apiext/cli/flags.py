"""The flags of `apiext serve`, with the names of kube-apiserver's where they mean the same.

Values are texts here; server/flags.py reads them. A switch can be given as in Go: `--flag`, `--flag=false`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_SINGLE: Final = {
    # where it listens
    "bind-address": ("IP", "Address to listen on (default 127.0.0.1)."),
    "secure-port": ("PORT", "Port to listen on; 0 takes any free one (default 6443)."),
    "cert-dir": ("DIR", "Where the server keeps its own keys, certificates and kubeconfig (default pki in --data-dir)."),
    "tls-cert-file": ("FILE", "Certificate to show instead of one of the server's own."),
    "tls-private-key-file": ("FILE", "Key of --tls-cert-file."),
    "tls-min-version": ("VERSION", "VersionTLS12 or VersionTLS13 (default VersionTLS12)."),
    # what it serves, and where it keeps it
    "crd-dir": ("DIR", "Folder of CRD files to serve and follow."),
    "crd-selector": ("SELECTOR", "Labels of the cluster's CRDs to serve and follow; empty for all (default none of them)."),
    "data-dir": ("DIR", "Where objects are kept without etcd (default apiext in the user's folder for data)."),
    "etcd-prefix": ("PREFIX", "Prefix of all keys (default /registry)."),
    "etcd-cafile": ("FILE", "Authorities of etcd's certificates."),
    "etcd-certfile": ("FILE", "Certificate to show to etcd."),
    "etcd-keyfile": ("FILE", "Key of --etcd-certfile."),
    "etcd-compaction-interval": ("DURATION", "How often old revisions are dropped; 0 for never (default 5m)."),
    "event-ttl": ("DURATION", "How long events are kept; 0 for ever (default 1h)."),
    # who gets in
    "client-ca-file": ("FILE", "Authorities of client certificates, instead of the server's own."),
    "token-auth-file": ("FILE", 'Users by bearer token; lines of token,user,uid,"group1,group2".'),
    "requestheader-client-ca-file": ("FILE", "Authorities of front proxies, whose headers name the user."),
    "authentication-kubeconfig": ("FILE", "The server that knows tokens, and names clients' and front proxies' authorities."),
    "authentication-token-webhook-cache-ttl": ("DURATION", "How long is kept whose a token is (default 10s)."),
    "authorization-kubeconfig": ("FILE", "The server that decides with --authorization-mode Webhook, and how to get in."),
    "authorization-webhook-cache-authorized-ttl": ("DURATION", "How long a decision to allow is kept (default 10s)."),
    "authorization-webhook-cache-unauthorized-ttl": ("DURATION", "How long a decision to refuse is kept (default 10s)."),
    "kubeconfig": (
        "FILE",
        (
            "The cluster around the server, whose namespaces and quotas hold; "
            "what --authentication-kubeconfig and --authorization-kubeconfig name where they are not given."
        ),
    ),
    # how much and how long
    "request-timeout": ("DURATION", "Time a request may take, watches excepted (default 1m)."),
    "min-request-timeout": ("SECONDS", "Least time of a watch that does not say how long (default 1800)."),
    "max-requests-inflight": ("N", "Reading requests served at once; 0 for any number (default 400)."),
    "max-mutating-requests-inflight": ("N", "Writing requests served at once; 0 for any number (default 200)."),
    "tracing-config-file": ("FILE", "TracingConfiguration: where OpenTelemetry spans go; needs apiext[tracing]."),
    "shutdown-delay-duration": ("DURATION", "Time to go on serving, not ready, after SIGTERM (default 0s)."),
}
_LISTS: Final = {
    "tls-sni-cert-key": (
        "CERT,KEY[:NAMES]",
        "Certificate and key to show to who asks for one of the names, such as *.example.com, or of its own; may be repeated.",
    ),
    "etcd-servers": ("URLS", "etcd to keep objects in, as http://host:port,... instead of --data-dir."),
    "authorization-mode": (
        "MODES",
        "AlwaysAllow: who is authenticated may do everything (default); Webhook: another server decides (default with any kubeconfig).",
    ),
    "api-audiences": ("NAMES", "What tokens that the other server knows must be meant for (default what it takes itself)."),
    "authorization-always-allow-paths": ("PATHS", "Paths that everybody reaches (default /healthz,/livez,/readyz)."),
    "requestheader-allowed-names": ("NAMES", "Common names of front proxies (default any)."),
    "requestheader-username-headers": ("HEADERS", "Where front proxies name the user (default X-Remote-User)."),
    "requestheader-uid-headers": ("HEADERS", "Where front proxies name the user's uid."),
    "requestheader-group-headers": ("HEADERS", "Where front proxies name groups (default X-Remote-Group)."),
    "requestheader-extra-headers-prefix": ("PREFIXES", "How headers with more about the user begin (default X-Remote-Extra-)."),
    "enable-admission-plugins": ("NAMES", "Admission plugins to switch on besides those that are on."),
    "disable-admission-plugins": ("NAMES", "Admission plugins to switch off, such as NamespaceLifecycle."),
    "feature-gates": ("GATES", "Features to switch on or off, as Name=true,..."),
    "cors-allowed-origins": ("REGEXES", "Origins whose scripts get in."),
    "strict-transport-security-directives": ("DIRECTIVES", "What to send as Strict-Transport-Security, as max-age=31536000,..."),
}
_SWITCHES: Final = {
    "watch-cache": "Serve reads from memory (default true).",
    "anonymous-auth": "Answer the health endpoints without credentials (default true).",
    "authentication-skip-lookup": "Do not look up the authorities that no flag names in the cluster (default false).",
    "authentication-tolerate-lookup-failure": "Start also where they cannot be looked up (default false).",
    "enable-priority-and-fairness": "Accepted as the reference does; the limits are those of --max-requests-inflight.",
}


def serve_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command all flags."""
    options = [
        *(click.option(f"--{name}", metavar=kind, help=text) for name, (kind, text) in _SINGLE.items()),
        *(click.option(f"--{name}", metavar=kind, help=text, multiple=True) for name, (kind, text) in _LISTS.items()),
        *(click.option(f"--{name}", metavar="[=BOOL]", help=text, is_flag=False, flag_value="true") for name, text in _SWITCHES.items()),
        click.option("-v", "--v", "v", metavar="N", help="Verbosity of the log; from 3 on every request (default 0)."),
    ]
    for option in reversed(options):
        command = option(command)
    return command
