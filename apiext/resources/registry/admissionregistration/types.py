"""The Go types of webhook configurations, policies and bindings (k8s.io/api admissionregistration/v1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.golang.byte_type import BYTES
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.base.meta.objectmeta.conditions import CONDITION
from apiext.resources.registry.builtin.label_selector import LABEL_SELECTOR

if TYPE_CHECKING:
    from apiext.base.meta.golang.struct_type import Struct

_RULE: Final = struct("Rule", "1 apiGroups []string, 2 apiVersions []string, 3 resources []string, 4 scope *v1.ScopeType")
RULE_WITH_OPERATIONS: Final = struct("RuleWithOperations", "1 operations []v1.OperationType, 2 &Rule", _RULE)
SERVICE_REFERENCE: Final = struct("ServiceReference", "1 namespace!, 2 name!, 3 path *string, 4 port *int32")
CLIENT_CONFIG: Final = struct(
    "WebhookClientConfig", "3 url *string, 1 service *ServiceReference, 2 caBundle []uint8", SERVICE_REFERENCE, BYTES
)
_MATCH_CONDITION: Final = struct("MatchCondition", "1 name!, 2 expression!")
_WEBHOOK_TYPES: Final = (CLIENT_CONFIG, RULE_WITH_OPERATIONS, LABEL_SELECTOR, _MATCH_CONDITION)
VALIDATING_WEBHOOK: Final = struct(
    "ValidatingWebhook",
    "1 name!, 2 clientConfig! WebhookClientConfig, 3 rules []RuleWithOperations, 4 failurePolicy *v1.FailurePolicyType,"
    "9 matchPolicy *v1.MatchPolicyType, 5 namespaceSelector *LabelSelector, 10 objectSelector *LabelSelector,"
    "6 sideEffects! *v1.SideEffectClass, 7 timeoutSeconds *int32, 8 admissionReviewVersions! []string, 11 matchConditions []MatchCondition",
    *_WEBHOOK_TYPES,
)
MUTATING_WEBHOOK: Final = struct(
    "MutatingWebhook",
    "1 name!, 2 clientConfig! WebhookClientConfig, 3 rules []RuleWithOperations, 4 failurePolicy *v1.FailurePolicyType,"
    "9 matchPolicy *v1.MatchPolicyType, 5 namespaceSelector *LabelSelector, 11 objectSelector *LabelSelector,"
    "6 sideEffects! *v1.SideEffectClass, 7 timeoutSeconds *int32, 8 admissionReviewVersions! []string,"
    "10 reinvocationPolicy *v1.ReinvocationPolicyType, 12 matchConditions []MatchCondition",
    *_WEBHOOK_TYPES,
)
_NAMED_RULE: Final = struct("NamedRuleWithOperations", "1 resourceNames []string, 2 &RuleWithOperations", RULE_WITH_OPERATIONS)
MATCH_RESOURCES: Final = struct(
    "MatchResources",
    "1 namespaceSelector *LabelSelector, 2 objectSelector *LabelSelector, 3 resourceRules []NamedRuleWithOperations,"
    "4 excludeResourceRules []NamedRuleWithOperations, 7 matchPolicy *v1.MatchPolicyType",
    LABEL_SELECTOR,
    _NAMED_RULE,
)
_PARAM_KIND: Final = struct("ParamKind", "1 apiVersion, 2 kind")
_PARAM_REF: Final = struct(
    "ParamRef", "1 name, 2 namespace, 3 selector *LabelSelector, 4 parameterNotFoundAction *v1.ParameterNotFoundActionType", LABEL_SELECTOR
)
_VARIABLE: Final = struct("Variable", "1 name!, 2 expression!")
VALIDATING_POLICY_SPEC: Final = struct(
    "ValidatingAdmissionPolicySpec",
    "1 paramKind *ParamKind, 2 matchConstraints *MatchResources, 3 validations []Validation, 4 failurePolicy *v1.FailurePolicyType,"
    "5 auditAnnotations []AuditAnnotation, 6 matchConditions []MatchCondition, 7 variables []Variable",
    _PARAM_KIND,
    MATCH_RESOURCES,
    struct("Validation", "1 expression!, 2 message, 3 reason *v1.StatusReason, 4 messageExpression"),
    struct("AuditAnnotation", "1 key!, 2 valueExpression!"),
    _MATCH_CONDITION,
    _VARIABLE,
)
_POLICY_STATUS: Final = struct(
    "ValidatingAdmissionPolicyStatus",
    "1 observedGeneration int64, 2 typeChecking *TypeChecking, 3 conditions []Condition",
    struct("TypeChecking", "1 expressionWarnings []ExpressionWarning", struct("ExpressionWarning", "2 fieldRef!, 3 warning!")),
    CONDITION,
)
MUTATING_POLICY_SPEC: Final = struct(
    "MutatingAdmissionPolicySpec",
    "1 paramKind *ParamKind, 2 matchConstraints *MatchResources, 3 variables []Variable, 4 mutations []Mutation,"
    "5 failurePolicy *v1.FailurePolicyType, 6 matchConditions []MatchCondition, 7 reinvocationPolicy v1.ReinvocationPolicyType",
    _PARAM_KIND,
    MATCH_RESOURCES,
    _VARIABLE,
    struct(
        "Mutation",
        "2 patchType! v1.PatchType, 3 applyConfiguration *ApplyConfiguration, 4 jsonPatch *JSONPatch",
        struct("ApplyConfiguration", "1 expression"),
        struct("JSONPatch", "1 expression"),
    ),
    _MATCH_CONDITION,
)


def _kind(name: str, members: str, *types: Struct) -> Struct:
    return struct(name, f"TypeMeta, 1 metadata! ObjectMeta, {members}", OBJECT_META, *types)


VALIDATING_WEBHOOK_CONFIGURATION: Final = _kind("ValidatingWebhookConfiguration", "2 webhooks []ValidatingWebhook", VALIDATING_WEBHOOK)
MUTATING_WEBHOOK_CONFIGURATION: Final = _kind("MutatingWebhookConfiguration", "2 webhooks []MutatingWebhook", MUTATING_WEBHOOK)
VALIDATING_ADMISSION_POLICY: Final = _kind(
    "ValidatingAdmissionPolicy",
    "2 spec! ValidatingAdmissionPolicySpec, 3 status! ValidatingAdmissionPolicyStatus",
    VALIDATING_POLICY_SPEC,
    _POLICY_STATUS,
)
MUTATING_ADMISSION_POLICY: Final = _kind("MutatingAdmissionPolicy", "2 spec! MutatingAdmissionPolicySpec", MUTATING_POLICY_SPEC)
_BINDING_SPEC: Final = "1 policyName, 2 paramRef *ParamRef, 3 matchResources *MatchResources"
VALIDATING_ADMISSION_POLICY_BINDING: Final = _kind(
    "ValidatingAdmissionPolicyBinding",
    "2 spec! ValidatingAdmissionPolicyBindingSpec",
    struct(
        "ValidatingAdmissionPolicyBindingSpec",
        f"{_BINDING_SPEC}, 4 validationActions []v1.ValidationAction",
        _PARAM_REF,
        MATCH_RESOURCES,
    ),
)
MUTATING_ADMISSION_POLICY_BINDING: Final = _kind(
    "MutatingAdmissionPolicyBinding",
    "2 spec! MutatingAdmissionPolicyBindingSpec",
    struct("MutatingAdmissionPolicyBindingSpec", _BINDING_SPEC, _PARAM_REF, MATCH_RESOURCES),
)
