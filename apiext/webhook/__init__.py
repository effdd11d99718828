"""Calls to other servers: where they are, how to get in, what is tried again, and how their collections are followed.

Owns kubeconfig files, connections, lists and watches. Must not know what is asked, nor what an answer or an object means.
Mirrors k8s.io/apiserver/pkg/util/webhook and k8s.io/client-go/tools/cache (reflector.go).
"""
