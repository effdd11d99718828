"""What every floor uses: values of Kubernetes, the event loop, certificates, clients of other servers, worker processes.

Must not know resources, stores or requests of clients. Mirrors k8s.io/apimachinery, k8s.io/client-go and k8s.io/utils.
"""
