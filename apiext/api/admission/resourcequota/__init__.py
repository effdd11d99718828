"""ResourceQuota: limits the number of objects in the namespaces of the host.

Owns the cache of quotas and the charging of creates. Must not know the informer, nor the client of the host: it receives quotas
through the Follower protocol, and a function that sends requests.
Mirrors apiserver pkg/admission/plugin/resourcequota, and the object count of pkg/quota/v1: quotas limit no other property of
custom resources, and quotas with scopes never apply to them.
"""
