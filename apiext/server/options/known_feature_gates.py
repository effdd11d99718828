"""Feature gates of kube-apiserver 1.37.1: their stages, defaults and dependencies.

Mirrors the registrations in k8s.io/apiserver, apiextensions-apiserver, component-base, client-go and kubernetes (pkg/features).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Stage(NamedTuple):
    """The maturity of gates, and their value."""

    name: str
    default: bool
    locked: bool
    """Whether the default cannot be changed."""


_NAMES: Final = {
    Stage("alpha", default=False, locked=False): """
        APIServerWebhookAuthenticationToken APIServingWithRoutine AllAlpha AtomicWriteVolumeUserFields CBORServingAndStorage
        CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
        CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook CompositePodGroup
        ConsistentListFromCacheSkipTimeoutFallback ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit
        CrossNamespaceVolumeDataSource DRADerivedAttributes
        DRADeviceCompatibilityGroups DRAListTypeAttributes DRANodeAllocatableResources DRAOptionalNodeOperations
        DRAPartitionableDevicesType DRAResourcePoolStatus DefaultPodSysctls EmptyDirVolumeMode EventedPLEG EvictionRequestAPI
        GRPCContainerProbeTLS H2CContainerProbe ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
        InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption
        InterPodAffinityHostnameFastPath KubeProxyNFTablesLocalhostNodePorts KubeletAllocatedPodsEndpoint LoggingAlphaOptions
        MutablePVNodeAffinity NodeLifecycleConditions PodGroupPreemptionPolicy PodLogsQuerySplitStreams QOSReserved
        ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SchedulerPreQueueingHints ShardedListAndWatch
        StatefulSetRecreateStrategy StorageVersionAPI TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
        TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeBindMountOptions WindowsCPUAndMemoryAffinity
        WorkloadWithJob
    """,
    Stage("beta", default=False, locked=False): """
        AllBeta CoordinatedLeaderElection DRAFractionalCapacityRange DRAWorkloadResourceClaims GenericWorkload
        LocalStorageCapacityIsolationFSQuotaMonitoring PodAndContainerStatsFromCRI PodLevelResourceManagers SchedulerAsyncAPICalls
    """,
    Stage("beta", default=True, locked=False): """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AllowUnsafeMalformedObjectDeletion AtomicFIFO
        AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
        ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz
        ConcurrentWatchObjectDecode ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules ContextualLogging
        DRAConsumableCapacity DRADeviceBindingConditions DRAPartitionableDevices DRAResourceClaimGranularStatusAuthorization
        DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles
        EtcdRangeStream ExcludeAdmissionWebhookVirtualResources ExtendWebSocketsToKubelet GracefulNodeShutdown
        GracefulNodeShutdownBasedOnPodPriority HPAGeneration HPAOptimizedSelectorStore HPAScaleToZero HugepageAwareEviction
        InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
        KubeletInUserNamespace KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
        LoggingBetaOptions ManifestBasedAdmissionControlConfig MatchLabelKeysInPodTopologySpread
        MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet MemoryQoS MutablePodResourcesForSuspendedJobs
        MutableSchedulingDirectivesForSuspendedJobs NFTablesNetlink NativeHistograms NodeControllerLeaseCircuitBreaker
        NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PersistentVolumeClaimUnusedSinceTime PodDeletionCost
        PodLevelResources PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodTopologyLabelsAdmission PodsAPI
        PortForwardWebsockets ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus
        ResourceHealthStatusMessage RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
        SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
        StaleControllerConsistencyHPA StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
        StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageCapacityScoring StorageVersionHash
        StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
        TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
        UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO VolumeLimitScaling WatchList
        WatchListClient WatchListCompression WebhookRoundTripLoadBalancing WindowsGracefulNodeShutdown
    """,
    Stage("GA", default=True, locked=False): """
        AllowServiceExternalIPs ClusterTrustBundle ClusterTrustBundleProjection CustomCPUCFSQuotaPeriod DRADeviceTaintRules
        DRADeviceTaints InformerResourceVersion MutatingAdmissionPolicy PodCertificateRequest SELinuxMount StorageVersionMigrator
    """,
    Stage("GA", default=True, locked=True): """
        CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets CustomResourceFieldSelectors DRAAdminAccess
        DRAExtendedResource DRAPrioritizedList DRAResourceClaimDeviceStatus DeclarativeValidation DisableAllocatorDualWrite
        DynamicResourceAllocation ExecProbeTimeout ExternalServiceAccountTokenSigner HPAConfigurableTolerance HostnameOverride
        ImageMaximumGCAge ImageVolume InOrderInformers InPlacePodVerticalScaling InPlacePodVerticalScalingInitContainers JobManagedBy
        KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet
        KubeletTracing MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount NFTablesProxyMode
        NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap PLEGOnDemandRelist PodObservedGenerationTracking
        PodReadyToStartContainersCondition PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType
        RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation
        SELinuxChangePolicy SELinuxMountReadWriteOncePod SeparateTaintEvictionController ServiceAccountTokenJTI
        ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SupplementalGroupsPolicy
        SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WatchCacheInitializationPostStartHook
        WinDSR WinOverlay
    """,
    Stage("deprecated", default=False, locked=False): """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests ChangeContainerStatusOnKubeletRestart KMSv1
        KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
    """,
    Stage("deprecated", default=False, locked=True): """
        AllowOverwriteTerminationGracePeriodSeconds DeclarativeValidationTakeover GitRepoVolumeDriver SeparateCacheWatchRPC
    """,
    Stage("deprecated", default=True, locked=False): """
        KubeProxyIPVS KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex
    """,
    Stage("deprecated", default=True, locked=True): """
        AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion
    """,
}
FEATURE_GATES: Final = {name: stage for stage, names in _NAMES.items() for name in names.split()}
"""Stages by gate."""
DEPENDENCIES: Final = {
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
    "CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    "DRAAdminAccess": ("DynamicResourceAllocation",),
    "DRAConsumableCapacity": ("DynamicResourceAllocation",),
    "DRADerivedAttributes": ("DynamicResourceAllocation",),
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"),
    "DRADeviceCompatibilityGroups": ("DRAPartitionableDevices", "DynamicResourceAllocation"),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRADeviceTaints": ("DynamicResourceAllocation",),
    "DRAExtendedResource": ("DynamicResourceAllocation",),
    "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
    "DRAListTypeAttributes": ("DynamicResourceAllocation",),
    "DRANodeAllocatableResources": ("DynamicResourceAllocation",),
    "DRAOptionalNodeOperations": ("DynamicResourceAllocation", "NodeDeclaredFeatures"),
    "DRAPartitionableDevices": ("DynamicResourceAllocation",),
    "DRAPartitionableDevicesType": ("DRAPartitionableDevices", "DRAResourcePoolStatus", "DynamicResourceAllocation"),
    "DRAPrioritizedList": ("DynamicResourceAllocation",),
    "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"),
    "DRAResourcePoolStatus": ("DynamicResourceAllocation",),
    "DRASchedulerFilterTimeout": ("DynamicResourceAllocation",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
    "DeclarativeValidationBeta": ("DeclarativeValidation",),
    "DeclarativeValidationTakeover": ("DeclarativeValidation",),
    "DisableAllocatorDualWrite": ("MultiCIDRServiceAllocator",),
    "EventedPLEG": ("PLEGOnDemandRelist",),
    "ExtendWebSocketsToKubelet": ("NodeDeclaredFeatures",),
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
    "H2CContainerProbe": ("NodeDeclaredFeatures",),
    "ImageVolumeWithDigest": ("ImageVolume",),
    "InPlacePodLevelResourcesVerticalScaling": ("InPlacePodVerticalScaling", "NodeDeclaredFeatures", "PodLevelResources"),
    "InPlacePodVerticalScalingExclusiveCPUs": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingExclusiveMemory": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingInitContainers": ("InPlacePodVerticalScaling", "NodeDeclaredFeatures"),
    "InPlacePodVerticalScalingMemoryBackedVolumes": ("InPlacePodVerticalScaling", "NodeDeclaredFeatures"),
    "InPlacePodVerticalScalingSchedulerPreemption": ("InPlacePodVerticalScaling",),
    "KubeletAllocatedPodsEndpoint": ("InPlacePodVerticalScaling",),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "NodeControllerLeaseCircuitBreaker": ("AtomicFIFO",),
    "PodGroupPreemptionPolicy": ("GenericWorkload",),
    "PodLevelResourceManagers": ("PodLevelResources",),
    "PodLevelResourcesFixDefaulting": ("PodLevelResources",),
    "PodLevelResourcesFixKubeletQOSClass": ("PodLevelResources",),
    "ProcMountType": ("UserNamespacesSupport",),
    "ResourceHealthStatus": ("DynamicResourceAllocation",),
    "ResourceHealthStatusMessage": ("ResourceHealthStatus",),
    "RestartAllContainersOnContainerExits": ("ContainerRestartRules", "NodeDeclaredFeatures"),
    "ServiceAccountTokenNodeBinding": ("ServiceAccountTokenNodeBindingValidation",),
    "StaleControllerConsistencyDaemonSet": ("AtomicFIFO",),
    "StaleControllerConsistencyHPA": ("AtomicFIFO",),
    "StaleControllerConsistencyJob": ("AtomicFIFO",),
    "StaleControllerConsistencyReplicaSet": ("AtomicFIFO",),
    "StaleControllerConsistencyStatefulSet": ("AtomicFIFO",),
    "StorageVersionAPI": ("APIServerIdentity",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "UnknownVersionInteroperabilityProxy": ("APIServerIdentity",),
    "UserNamespacesHostNetworkSupport": ("NodeDeclaredFeatures", "UserNamespacesSupport"),
    "WindowsGracefulNodeShutdown": ("GracefulNodeShutdown",),
    "WorkloadWithJob": ("GenericWorkload",),
}
"""For a gate, the gates that must be enabled too."""
