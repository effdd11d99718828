"""The Backend over etcd's v3 API: several servers with failover, TLS, deadlines, watches that resume.

Owns connections, messages and etcd's errors; no type of HTTP/2 or aetcd leaves this package. Must not know what a value means.
Uses the generated messages of `aetcd` over its own channels (`http2`, which states why). Import it only when etcd is used:
protobuf takes 20 ms and 5 MB. Mirrors k8s.io/apiserver/pkg/storage/etcd3 and go.etcd.io/etcd/client/v3.

Retries: a read is retried until its deadline. A write is sent again only when the server certainly has not processed it:
the call was never sent, the server refused its stream (REFUSED_STREAM, or above the last stream of GOAWAY), or the server
had no leader to propose it to. Any other failed write has an unknown outcome and raises UnavailableError.
"""
