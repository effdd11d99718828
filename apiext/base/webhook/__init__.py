"""Clients of other servers: kubeconfigs, credentials, connections, retries, paged lists and watches.

Owns kubeconfig files, connections, lists and watches. Must not know the meaning of requests, answers and objects.
Mirrors k8s.io/apiserver/pkg/util/webhook and k8s.io/client-go (tools/clientcmd, tools/pager, tools/cache/reflector.go).
"""
