"""Resources whose writes admission leaves alone, so that no configuration locks its own users out.

Mirrors kubernetes pkg/kubeapiserver/admission/exclusion and IsExemptAdmissionConfigurationResource of apiserver predicates/rules.
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta.gvk import GroupResource

REGISTRATION_GROUP: Final = "admissionregistration.k8s.io"
"""The group of the resources that configure admission: only webhooks and policies of files apply to them."""
VIRTUAL_RESOURCES: Final = frozenset(
    {
        GroupResource("authentication.k8s.io", "selfsubjectreviews"),
        GroupResource("authentication.k8s.io", "tokenreviews"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"),
        GroupResource("authorization.k8s.io", "subjectaccessreviews"),
    }
)
"""Reviews of access, which are never stored. No policy applies to them; their endpoints decide whether webhooks do."""
