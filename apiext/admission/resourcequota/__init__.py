"""ResourceQuota: in a namespace of the host are no more objects of a kind than its quotas allow.

Owns what is known of quotas, and the charging of creations. Must not know who follows quotas, nor how the host is called:
it is told of them, and given a function to call.
Mirrors apiserver pkg/admission/plugin/resourcequota, and of pkg/quota/v1 the counting of objects: of custom resources nothing
else is limited, and quotas with scopes never apply to them.
"""
