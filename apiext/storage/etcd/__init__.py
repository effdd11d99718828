"""The Backend over etcd's v3 API: several servers with failover, TLS, deadlines, watches that resume.

Owns connections, messages and etcd's errors; nothing of HTTP/2 or of aetcd is seen outside. Must not know what a value means.
Takes aetcd's messages (`generated`) over channels of its own (`http2`); import it only when etcd is used, for protobuf takes
20 ms and 5 MB. Mirrors what k8s.io/apiserver/pkg/storage/etcd3 and go.etcd.io/etcd/client/v3 do.

A write is sent once. When its outcome is unknown (no answer in time, connection lost) it ends in UnavailableError; it is
kept waiting, and sent to another server, only before it has been sent, or where a server says that there was no leader to
propose it to. Reads are tried again until their deadline.
"""
