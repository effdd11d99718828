"""Admission plugins and feature gates of the reference: the values that flags accept."""

from __future__ import annotations

from typing import Final

ADMISSION_PLUGINS: Final = frozenset(
    {
        "NamespaceLifecycle",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionWebhook",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
        "ResourceQuota",
    }
)
"""Plugins of k8s.io/apiserver, and ResourceQuota of kube-apiserver, which applies to custom resources."""

FEATURE_GATES: Final = frozenset(
    {
        "APIResponseCompression",
        "APIServerIdentity",
        "APIServerWebhookAuthenticationToken",
        "APIServingWithRoutine",
        "AggregatedDiscoveryRemoveBetaType",
        "AllAlpha",
        "AllBeta",
        "AllowParsingUserUIDFromCertAuth",
        "AllowUnsafeMalformedObjectDeletion",
        "CBORServingAndStorage",
        "CRDObservedGenerationTracking",
        "CRDValidationRatcheting",
        "ConcurrentWatchObjectDecode",
        "ConsistentListFromCacheSkipTimeoutFallback",
        "ConstrainedImpersonation",
        "CoordinatedLeaderElection",
        "CustomResourceFieldSelectors",
        "DeclarativeValidation",
        "DeclarativeValidationBeta",
        "DeclarativeValidationTakeover",
        "DetectCacheInconsistency",
        "EtcdRangeStream",
        "ExcludeAdmissionWebhookVirtualResources",
        "KMSv1",
        "ListFromCacheSnapshot",
        "ManifestBasedAdmissionControlConfig",
        "MutatingAdmissionPolicy",
        "OpenAPIEnums",
        "RemoteRequestHeaderUID",
        "SeparateCacheWatchRPC",
        "ShardedListAndWatch",
        "SizeBasedListCostEstimate",
        "StorageVersionAPI",
        "StorageVersionHash",
        "StructuredAuthenticationConfigurationEgressSelector",
        "StructuredAuthenticationConfigurationJWKSMetrics",
        "TokenRequestServiceAccountUIDValidation",
        "UnauthenticatedHTTP2DOSMitigation",
        "UnknownVersionInteroperabilityProxy",
        "WatchCacheInitializationPostStartHook",
        "WatchList",
        "WatchListCompression",
        "WebhookRoundTripLoadBalancing",
    }
)
"""Gates of apiserver and apiextensions-apiserver. apiext reads those of features that it implements."""
