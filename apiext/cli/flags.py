"""The flags of `apiext serve` in the sections of its help, named as those of kube-apiserver with the same meaning.

Values are strings here; server/options/flags.py parses them. Boolean flags have Go's syntax: `--flag`, `--flag=false`.
"""

from __future__ import annotations

from typing import Final

import click


def _value(name: str, kind: str, text: str) -> click.Option:
    return click.Option([f"--{name}"], metavar=kind, help=text)


def _list(name: str, kind: str, text: str) -> click.Option:
    return click.Option([f"--{name}"], metavar=kind, help=text, multiple=True)


def _switch(name: str, text: str) -> click.Option:
    return click.Option([f"--{name}"], metavar="[=BOOL]", help=text, is_flag=False, flag_value="true")


def _output(name: str, mode: str, size: int, throttled: str) -> list[click.Option]:
    """Return the flags that both outputs of audit events have; `mode`, the `size` of batches and `throttled` are the defaults."""
    of = f"audit {name.removeprefix('audit-')}"
    return [
        _value(f"{name}-mode", "MODE", f"batch: in the background; blocking: requests wait; blocking-strict: and fail (default {mode})."),
        _value(f"{name}-version", "VERSION", "Version of events (default and only audit.k8s.io/v1)."),
        _value(f"{name}-batch-buffer-size", "N", "Events that wait in mode batch; further ones are lost (default 10000)."),
        _value(f"{name}-batch-max-size", "N", f"Events of a batch (default {size})."),
        _value(f"{name}-batch-max-wait", "DURATION", "Time after which an incomplete batch is sent (default 30s)."),
        _switch(f"{name}-batch-throttle-enable", f"Limit the batches of the {of} a second (default {throttled})."),
        _value(f"{name}-batch-throttle-qps", "N", "Batches a second (default 10)."),
        _value(f"{name}-batch-throttle-burst", "N", "Batches at once after a pause (default 15)."),
        _switch(f"{name}-truncate-enabled", f"Remove the objects from large events for the {of} (default false)."),
        _value(f"{name}-truncate-max-event-size", "BYTES", "Size above which an event is large (default 102400)."),
        _value(f"{name}-truncate-max-batch-size", "BYTES", "Size above which a batch is large (default 10485760)."),
    ]


SECTIONS: Final[dict[str, list[click.Option]]] = {
    "CRDs and objects": [
        _value("crd-dir", "DIR", "Directory of CRD files to serve; also as the argument FOLDER."),
        _switch("watch-crd-dir", "Apply changes of --crd-dir to the running server (default true)."),
        _switch(
            "builtin-kinds",
            "Serve Deployments, Services and the other built-in kinds as stored objects, without controllers (default false).",
        ),
        _switch(
            "garbage-collection",
            "Delete objects whose owners are gone, as kube-controller-manager does; standalone servers only (default true).",
        ),
        _value(
            "migrate",
            "MODE",
            "auto: store objects anew after their CRD's storage version changed; manual: leave that to clients (default).",
        ),
        _switch("guard-stored-versions", "Refuse to remove versions from CRDs while objects are stored in them (default false)."),
        _value("event-ttl", "DURATION", "How long events are kept; 0 disables their expiry (default 1h)."),
    ],
    "Listener": [
        _value("bind-address", "IP", "Address to listen on (default 127.0.0.1)."),
        _value("secure-port", "PORT", "Port to listen on; 0 selects a free one (default 6443)."),
        _value("cert-dir", "DIR", "Directory of the server's own keys, certificates and kubeconfig (default pki in --data-dir)."),
        _value("tls-cert-file", "FILE", "Serving certificate, instead of a generated one."),
        _value("tls-private-key-file", "FILE", "Key of --tls-cert-file."),
        _list(
            "tls-sni-cert-key",
            "CERT,KEY[:NAMES]",
            "Certificate and key for server names such as *.example.com (default those of the certificate); may be repeated.",
        ),
        _value("tls-min-version", "VERSION", "VersionTLS12 or VersionTLS13 (default VersionTLS12)."),
        _switch("disable-http2-serving", "Serve HTTP/1.1 only (default false, true with several --workers)."),
        _value(
            "http2-max-streams-per-connection",
            "N",
            "Requests at a time on a connection of HTTP/2; 0: 100, or 1000 for front proxies (default 0).",
        ),
        _value("goaway-chance", "SHARE", "Share of requests of HTTP/2 after which the client connects anew; at most 0.02 (default 0)."),
        _list("cors-allowed-origins", "REGEXES", "Allowed origins of cross-origin requests."),
        _list("strict-transport-security-directives", "DIRECTIVES", "Directives of Strict-Transport-Security, as max-age=31536000,..."),
    ],
    "Store": [
        _value("data-dir", "DIR", "Directory of the store without etcd (default apiext in the user's data directory)."),
        _list("etcd-servers", "URLS", "etcd endpoints, as http://host:port,..., instead of --data-dir."),
        _value("etcd-prefix", "PREFIX", "Prefix of all keys (default /registry)."),
        _value("etcd-cafile", "FILE", "CA of etcd's certificates."),
        _value("etcd-certfile", "FILE", "Client certificate for etcd."),
        _value("etcd-keyfile", "FILE", "Key of --etcd-certfile."),
        _value("etcd-compaction-interval", "DURATION", "Interval of compactions; 0 disables them (default 5m)."),
        _value("encryption-provider-config", "FILE", "EncryptionConfiguration: which resources are stored encrypted, and by which keys."),
        _switch(
            "encryption-provider-config-automatic-reload",
            "Apply changes of --encryption-provider-config to the running server (default false).",
        ),
        _switch("watch-cache", "Serve reads from memory (default true)."),
    ],
    "Host cluster": [
        _value(
            "kubeconfig",
            "FILE",
            "Host cluster, whose namespaces and quotas apply; the default of --authentication-kubeconfig and --authorization-kubeconfig.",
        ),
        _value("crd-selector", "SELECTOR", "Labels of the host's CRDs to serve and watch; empty selects all (default none)."),
    ],
    "Authentication": [
        _value("client-ca-file", "FILE", "CA of client certificates, instead of a generated one."),
        _value("token-auth-file", "FILE", 'Static bearer tokens; lines of token,user,uid,"group1,group2".'),
        _switch("anonymous-auth", "Accept anonymous requests, to the health endpoints only (default true)."),
        _list(
            "api-audiences",
            "NAMES",
            "Audiences of the server (default --service-account-issuer; for TokenReviews those of the reviewing server).",
        ),
        _list(
            "service-account-issuer",
            "URLS",
            "Issuers of ServiceAccounts' tokens; the first one issues (default https://kubernetes.default.svc.cluster.local).",
        ),
        _list(
            "service-account-key-file",
            "FILES",
            "Keys that verify ServiceAccounts' tokens (default that of --service-account-signing-key-file).",
        ),
        _value(
            "service-account-signing-key-file",
            "FILE",
            "Private key of ServiceAccounts' tokens (default service-account.key in --cert-dir, created when it is needed).",
        ),
        _value("requestheader-client-ca-file", "FILE", "CA of front proxies, whose headers name the user."),
        _list("requestheader-allowed-names", "NAMES", "Common names of front proxies (default any); with --requestheader-client-ca-file."),
        _list("requestheader-username-headers", "HEADERS", "Headers of the user name (default X-Remote-User)."),
        _list("requestheader-uid-headers", "HEADERS", "Headers of the user's UID."),
        _list("requestheader-group-headers", "HEADERS", "Headers of the user's groups (default X-Remote-Group)."),
        _list(
            "requestheader-extra-headers-prefix", "PREFIXES", "Prefixes of headers of the user's extra fields (default X-Remote-Extra-)."
        ),
        _value("authentication-kubeconfig", "FILE", "Server of TokenReviews and of the ConfigMap extension-apiserver-authentication."),
        _value("authentication-token-webhook-cache-ttl", "DURATION", "How long TokenReview results are cached (default 10s)."),
        _switch("authentication-skip-lookup", "Ignore the ConfigMap extension-apiserver-authentication (default false)."),
        _switch("authentication-tolerate-lookup-failure", "Start even if that ConfigMap cannot be read (default false)."),
    ],
    "Authorization": [
        _list(
            "authorization-mode",
            "MODES",
            "In order: FrontProxy: what the host proxies; AlwaysAllow: every authenticated user (default); RBAC; "
            "Webhook (with a kubeconfig).",
        ),
        _value("authorization-kubeconfig", "FILE", "Server of SubjectAccessReviews with --authorization-mode Webhook."),
        _value("authorization-webhook-cache-authorized-ttl", "DURATION", "How long allowed decisions are cached (default 10s)."),
        _value("authorization-webhook-cache-unauthorized-ttl", "DURATION", "How long denied decisions are cached (default 10s)."),
        _list(
            "authorization-always-allow-paths",
            "PATHS",
            "Paths that need no authorization (default /healthz,/livez,/readyz; none with RBAC).",
        ),
    ],
    "Admission and webhooks": [
        _list(
            "service-address",
            "NAMESPACE/NAME=HOST:PORT",
            "Address of a webhook's Service, or a file with one in each line (default the DNS of the cluster); may be repeated.",
        ),
        _list("enable-admission-plugins", "NAMES", "Admission plugins to enable besides the default ones."),
        _list("disable-admission-plugins", "NAMES", "Admission plugins to disable, such as NamespaceLifecycle."),
        _value(
            "admission-control-config-file", "FILE", "AdmissionConfiguration: kubeconfigs of webhooks, and static webhooks and policies."
        ),
    ],
    "Limits": [
        _value("request-timeout", "DURATION", "Timeout of requests except watches (default 1m)."),
        _value("min-request-timeout", "SECONDS", "Minimum duration of watches without timeoutSeconds (default 1800)."),
        _value(
            "max-requests-inflight",
            "N",
            "Concurrent read requests (0: no limit). Priority and fairness shares the sum of both limits (default 100; 400 without it).",
        ),
        _value(
            "max-mutating-requests-inflight", "N", "Concurrent write requests (0: no limit; default 50, 200 without priority and fairness)."
        ),
        _switch("enable-priority-and-fairness", "Limit requests by FlowSchemas and priority levels (default true)."),
    ],
    "Audit": [
        _value("audit-policy-file", "FILE", "Policy of audit.k8s.io/v1: which requests are recorded, and how much of them."),
        _value("audit-log-path", "FILE", "Log of audit events; - for standard output."),
        _value("audit-log-format", "FORMAT", "json (default), or legacy: a line of text for each event."),
        _value("audit-log-maxage", "DAYS", "How long rotated logs are kept; 0 keeps them (default 366)."),
        _value("audit-log-maxbackup", "N", "Rotated logs that are kept; 0 keeps all (default 100)."),
        _value("audit-log-maxsize", "MB", "Size at which the log is rotated; 0 disables rotation (default 100)."),
        _switch("audit-log-compress", "Compress rotated audit logs (default false)."),
        *_output("audit-log", "blocking", 1, "false"),
        _value("audit-webhook-config-file", "FILE", "Kubeconfig of a server that gets audit events."),
        _value("audit-webhook-initial-backoff", "DURATION", "Pause after the first failed attempt to send events (default 10s)."),
        _value("audit-webhook-batch-initial-backoff", "DURATION", "Deprecated name of --audit-webhook-initial-backoff."),
        *_output("audit-webhook", "batch", 400, "true"),
    ],
    "Process": [
        _value("workers", "N", "Processes that serve, one for each core; auto: one for each usable core; needs etcd (default 1)."),
        _list("feature-gates", "GATES", "Features to enable or disable, as Name=true,..."),
        _value("tracing-config-file", "FILE", "TracingConfiguration of OpenTelemetry spans; requires apiext[tracing]."),
        _value("shutdown-delay-duration", "DURATION", "Time to serve after SIGTERM with a failing readyz (default 0s)."),
        _switch("exit-with-parent", "Stop when the process ends that started the server (default false)."),
        click.Option(["-v", "--v", "v"], metavar="N", help="Log verbosity; from 3 on, every request is logged (default 0)."),
    ],
}
"""The flags by the titles of their sections."""
FLAGS: Final = [flag for flags in SECTIONS.values() for flag in flags]
