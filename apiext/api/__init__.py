"""What a request meets: filters, users and their rights, flow control, verbs, admission, documents about resources.

Owns the endpoints of all resources, and the controllers that make requests themselves (migration, garbage collection). Must not
construct a process, and must not know how an object is validated, converted or stored. Mirrors k8s.io/apiserver and
apiextensions-apiserver pkg/apiserver.
"""
