"""HTTP/2 (RFC 9113): frames, windows and the order of what is sent. The client of etcd and the server share it."""
