"""Values of `--enable-admission-plugins` and `--disable-admission-plugins`.

Mirrors kubernetes pkg/kubeapiserver/options/plugins.go, and apiserver pkg/server/options/admission.go, whose error texts are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apiext.api.admission.dynamic import DYNAMIC_PLUGINS
from apiext.base.meta.golang.formatting import quote
from apiext.base.meta.log import get_logger

_LOG: Final = get_logger(__name__)
_IMPLEMENTED: Final = frozenset({"AlwaysAdmit", "NamespaceLifecycle", "ResourceQuota", *DYNAMIC_PLUGINS})
_MISSING: Final = frozenset(
    {
        "AlwaysDeny",
        "EventRateLimit",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "OwnerReferencesPermissionEnforcement",
    }
)
"""Plugins of kube-apiserver that decide about custom resources, namespaces or events, and are not implemented."""
_FOREIGN: Final = frozenset(
    {
        "AlwaysPullImages",
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "ClusterTrustBundleAttest",
        "DefaultIngressClass",
        "DefaultStorageClass",
        "DefaultTolerationSeconds",
        "DenyServiceExternalIPs",
        "ExtendedResourceToleration",
        "ImagePolicyWebhook",
        "LimitPodHardAntiAffinityTopology",
        "LimitRanger",
        "NodeDeclaredFeatureValidator",
        "NodeRestriction",
        "PersistentVolumeClaimResize",
        "PodGroupProtection",
        "PodNodeSelector",
        "PodResizeValidator",
        "PodSecurity",
        "PodTolerationRestriction",
        "PodTopologyLabels",
        "Priority",
        "RuntimeClass",
        "ServiceAccount",
        "StorageObjectInUseProtection",
        "TaintNodesByCondition",
    }
)
"""Plugins of kube-apiserver that decide about resources that this server does not serve."""


@dataclass(frozen=True, slots=True)
class AdmissionPlugins:
    """The plugins that flags enable and disable."""

    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    def problems(self) -> list[str]:
        """Return a line for each unknown plugin, and one line for the plugins that are both enabled and disabled."""
        problems = [
            f"{which}-admission-plugins plugin {quote(name)} is unknown"
            for which, names in (("enable", self.enabled), ("disable", self.disabled))
            for name in sorted(names - _IMPLEMENTED - _MISSING - _FOREIGN)
        ]
        if both := sorted(self.enabled & self.disabled):
            problems.append(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
        return problems

    def log_warnings(self) -> None:
        """Log enabled plugins that are not implemented."""
        if missing := sorted(self.enabled & _MISSING):
            _LOG.warning("admission plugins are not implemented, and do not check requests", plugins=",".join(missing))
        if foreign := sorted(self.enabled & _FOREIGN):
            _LOG.warning("admission plugins are for resources that this server does not serve", plugins=",".join(foreign))
