"""Calls to other servers on behalf of a request: where they are, how to get in, what is tried again.

Owns kubeconfig files and connections. Must not know what is asked, nor what an answer means.
Mirrors k8s.io/apiserver/pkg/util/webhook.
"""
