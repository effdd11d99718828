"""The operator of a cluster in which apiext serves: `apiext operate`.

Owns the APIServices of the groups that the host proxies to apiext, the move of a group's objects to apiext and back (adoption), conditions
and events on the host (reporting), the checks of the path to apiext (checks), the servers' certificate in a Secret of the host
(serving_certificate), and leader election. Must not serve requests, and must not know how apiext works inside: it talks to the host and to
apiext over HTTP, and to the host's etcd to hand objects back.

kopf watches the host's definitions and APIServices, logs in, and retries the start (host_watch.py). It does not do the following:

- It watches one API server. Reflector follows apiext's definitions, and the one Secret that the operator may read.
- Its high-level handlers write annotations and finalizers to each object that they handle. The operator may write only its own condition,
  finalizer and annotations to other people's definitions, so it uses event handlers and indices, which write nothing.
- Its handlers and their retries belong to one object. A reconciliation concerns a group: objects of two servers. Hence the work queue.
- It does not report deletions that it missed while disconnected. See host_watch.py.
- Its peering needs a custom resource. Leader election uses a Lease, as all components of Kubernetes do.
- It posts an Event for each message. EventRecorder counts repeated ones, as client-go does.
- It stops at a fatal error of a watch and cancels all tasks of its event loop. host_watch.py restarts it and cancels its tasks only.
- Its liveness endpoint closes while kopf restarts, for example while the host is down. A probe would then restart operators in vain.
"""
