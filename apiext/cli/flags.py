"""The flags of `apiext serve`, named as those of kube-apiserver with the same meaning.

Values are strings here; server/options/flags.py parses them. Boolean flags have Go's syntax: `--flag`, `--flag=false`.
"""

from __future__ import annotations

from typing import Final

import click

_SINGLE: Final = {
    # listener
    "bind-address": ("IP", "Address to listen on (default 127.0.0.1)."),
    "secure-port": ("PORT", "Port to listen on; 0 selects a free one (default 6443)."),
    "cert-dir": ("DIR", "Directory of the server's own keys, certificates and kubeconfig (default pki in --data-dir)."),
    "tls-cert-file": ("FILE", "Serving certificate, instead of a generated one."),
    "tls-private-key-file": ("FILE", "Key of --tls-cert-file."),
    "tls-min-version": ("VERSION", "VersionTLS12 or VersionTLS13 (default VersionTLS12)."),
    "workers": ("N", "Processes that serve, one for each core; auto: one for each usable core; needs etcd (default 1)."),
    # resources and storage
    "crd-dir": ("DIR", "Directory of CRD files to serve and watch."),
    "crd-selector": ("SELECTOR", "Labels of the host's CRDs to serve and watch; empty selects all (default none)."),
    "data-dir": ("DIR", "Directory of the store without etcd (default apiext in the user's data directory)."),
    "etcd-prefix": ("PREFIX", "Prefix of all keys (default /registry)."),
    "etcd-cafile": ("FILE", "CA of etcd's certificates."),
    "etcd-certfile": ("FILE", "Client certificate for etcd."),
    "etcd-keyfile": ("FILE", "Key of --etcd-certfile."),
    "etcd-compaction-interval": ("DURATION", "Interval of compactions; 0 disables them (default 5m)."),
    "encryption-provider-config": ("FILE", "EncryptionConfiguration: which resources are stored encrypted, and by which keys."),
    "migrate": ("MODE", "auto: store objects anew after their CRD's storage version changed; manual: leave that to clients (default)."),
    "event-ttl": ("DURATION", "How long events are kept; 0 disables their expiry (default 1h)."),
    # authentication and authorization
    "client-ca-file": ("FILE", "CA of client certificates, instead of a generated one."),
    "token-auth-file": ("FILE", 'Static bearer tokens; lines of token,user,uid,"group1,group2".'),
    "service-account-signing-key-file": (
        "FILE",
        "Private key of ServiceAccounts' tokens (default service-account.key in --cert-dir, created when it is needed).",
    ),
    "requestheader-client-ca-file": ("FILE", "CA of front proxies, whose headers name the user."),
    "authentication-kubeconfig": ("FILE", "Server of TokenReviews and of the ConfigMap extension-apiserver-authentication."),
    "authentication-token-webhook-cache-ttl": ("DURATION", "How long TokenReview results are cached (default 10s)."),
    "authorization-kubeconfig": ("FILE", "Server of SubjectAccessReviews with --authorization-mode Webhook."),
    "authorization-webhook-cache-authorized-ttl": ("DURATION", "How long allowed decisions are cached (default 10s)."),
    "authorization-webhook-cache-unauthorized-ttl": ("DURATION", "How long denied decisions are cached (default 10s)."),
    "kubeconfig": (
        "FILE",
        "Host cluster, whose namespaces and quotas apply; the default of --authentication-kubeconfig and --authorization-kubeconfig.",
    ),
    # limits, tracing, shutdown
    "request-timeout": ("DURATION", "Timeout of requests except watches (default 1m)."),
    "min-request-timeout": ("SECONDS", "Minimum duration of watches without timeoutSeconds (default 1800)."),
    "max-requests-inflight": (
        "N",
        "Concurrent read requests (0: no limit). Priority and fairness shares the sum of both limits (default 100; 400 without it).",
    ),
    "max-mutating-requests-inflight": ("N", "Concurrent write requests (0: no limit; default 50, 200 without priority and fairness)."),
    "admission-control-config-file": ("FILE", "AdmissionConfiguration: kubeconfigs of webhooks, and static webhooks and policies."),
    "tracing-config-file": ("FILE", "TracingConfiguration of OpenTelemetry spans; requires apiext[tracing]."),
    "shutdown-delay-duration": ("DURATION", "Time to serve after SIGTERM with a failing readyz (default 0s)."),
}


def _output(name: str, mode: str, size: int) -> dict[str, tuple[str, str]]:
    """Return the flags that both outputs of audit events have; `mode` and the `size` of batches are the defaults."""
    return {
        f"{name}-mode": ("MODE", f"batch: in the background; blocking: requests wait; blocking-strict: and fail (default {mode})."),
        f"{name}-version": ("VERSION", "Version of events (default and only audit.k8s.io/v1)."),
        f"{name}-batch-buffer-size": ("N", "Events that wait in mode batch; further ones are lost (default 10000)."),
        f"{name}-batch-max-size": ("N", f"Events of a batch (default {size})."),
        f"{name}-batch-max-wait": ("DURATION", "Time after which an incomplete batch is sent (default 30s)."),
        f"{name}-batch-throttle-qps": ("N", "Batches a second (default 10)."),
        f"{name}-batch-throttle-burst": ("N", "Batches at once after a pause (default 15)."),
        f"{name}-truncate-max-event-size": ("BYTES", "Size above which an event is large (default 102400)."),
        f"{name}-truncate-max-batch-size": ("BYTES", "Size above which a batch is large (default 10485760)."),
    }


_AUDIT: Final = {
    "audit-policy-file": ("FILE", "Policy of audit.k8s.io/v1: which requests are recorded, and how much of them."),
    "audit-log-path": ("FILE", "Log of audit events; - for standard output."),
    "audit-log-format": ("FORMAT", "json (default), or legacy: a line of text for each event."),
    "audit-log-maxage": ("DAYS", "How long rotated logs are kept; 0 keeps them (default 366)."),
    "audit-log-maxbackup": ("N", "Rotated logs that are kept; 0 keeps all (default 100)."),
    "audit-log-maxsize": ("MB", "Size at which the log is rotated; 0 disables rotation (default 100)."),
    **_output("audit-log", "blocking", 1),
    "audit-webhook-config-file": ("FILE", "Kubeconfig of a server that gets audit events."),
    "audit-webhook-initial-backoff": ("DURATION", "Pause after the first failed attempt to send events (default 10s)."),
    "audit-webhook-batch-initial-backoff": ("DURATION", "Deprecated name of --audit-webhook-initial-backoff."),
    **_output("audit-webhook", "batch", 400),
}
_LISTS: Final = {
    "tls-sni-cert-key": (
        "CERT,KEY[:NAMES]",
        "Certificate and key for server names such as *.example.com (default those of the certificate); may be repeated.",
    ),
    "etcd-servers": ("URLS", "etcd endpoints, as http://host:port,..., instead of --data-dir."),
    "authorization-mode": (
        "MODES",
        "In order: FrontProxy: what the host proxies; AlwaysAllow: every authenticated user (default); RBAC; Webhook (with a kubeconfig).",
    ),
    "api-audiences": (
        "NAMES",
        "Audiences of the server (default --service-account-issuer; for TokenReviews those of the reviewing server).",
    ),
    "authorization-always-allow-paths": ("PATHS", "Paths that need no authorization (default /healthz,/livez,/readyz; none with RBAC)."),
    "service-account-issuer": (
        "URLS",
        "Issuers of ServiceAccounts' tokens; the first one issues (default https://kubernetes.default.svc.cluster.local).",
    ),
    "service-account-key-file": ("FILES", "Keys that verify ServiceAccounts' tokens (default that of --service-account-signing-key-file)."),
    "requestheader-allowed-names": ("NAMES", "Common names of front proxies (default any)."),
    "requestheader-username-headers": ("HEADERS", "Headers of the user name (default X-Remote-User)."),
    "requestheader-uid-headers": ("HEADERS", "Headers of the user's UID."),
    "requestheader-group-headers": ("HEADERS", "Headers of the user's groups (default X-Remote-Group)."),
    "requestheader-extra-headers-prefix": ("PREFIXES", "Prefixes of headers of the user's extra fields (default X-Remote-Extra-)."),
    "enable-admission-plugins": ("NAMES", "Admission plugins to enable besides the default ones."),
    "disable-admission-plugins": ("NAMES", "Admission plugins to disable, such as NamespaceLifecycle."),
    "service-address": (
        "NAMESPACE/NAME=HOST:PORT",
        "Address of a webhook's Service, or a file with one in each line (default the DNS of the cluster); may be repeated.",
    ),
    "feature-gates": ("GATES", "Features to enable or disable, as Name=true,..."),
    "cors-allowed-origins": ("REGEXES", "Allowed origins of cross-origin requests."),
    "strict-transport-security-directives": ("DIRECTIVES", "Directives of Strict-Transport-Security, as max-age=31536000,..."),
}
_SWITCHES: Final = {
    "watch-cache": "Serve reads from memory (default true).",
    "builtin-kinds": "Serve Deployments, Services and the other built-in kinds as stored objects, without controllers (default false).",
    "encryption-provider-config-automatic-reload": "Apply changes of --encryption-provider-config to the running server (default false).",
    "garbage-collection": "Delete objects whose owners are gone, as kube-controller-manager does; standalone servers only (default true).",
    "guard-stored-versions": "Refuse to remove versions from CRDs while objects are stored in them (default false).",
    "anonymous-auth": "Accept anonymous requests, to the health endpoints only (default true).",
    "authentication-skip-lookup": "Ignore the ConfigMap extension-apiserver-authentication (default false).",
    "authentication-tolerate-lookup-failure": "Start even if that ConfigMap cannot be read (default false).",
    "audit-log-compress": "Compress rotated audit logs (default false).",
    "audit-log-batch-throttle-enable": "Limit the batches of the audit log a second (default false).",
    "audit-log-truncate-enabled": "Remove the objects from large events in the audit log (default false).",
    "audit-webhook-batch-throttle-enable": "Limit the batches of the audit webhook a second (default true).",
    "audit-webhook-truncate-enabled": "Remove the objects from large events for the audit webhook (default false).",
    "exit-with-parent": "Stop when the process ends that started the server (default false).",
    "enable-priority-and-fairness": "Limit requests by FlowSchemas and priority levels (default true).",
}

FLAGS: Final = [
    *(click.Option([f"--{name}"], metavar=kind, help=text) for name, (kind, text) in (_SINGLE | _AUDIT).items()),
    *(click.Option([f"--{name}"], metavar=kind, help=text, multiple=True) for name, (kind, text) in _LISTS.items()),
    *(click.Option([f"--{name}"], metavar="[=BOOL]", help=text, is_flag=False, flag_value="true") for name, text in _SWITCHES.items()),
    click.Option(["-v", "--v", "v"], metavar="N", help="Log verbosity; from 3 on, every request is logged (default 0)."),
]
