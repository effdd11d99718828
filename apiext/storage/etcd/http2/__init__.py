"""Remote procedure calls as gRPC defines them, over HTTP/2, on the event loop itself: what etcd's API needs and no more.

Owns connections, frames, windows and the outcome of a call; must not know what a message means. A library for all of gRPC
hands every message from a thread of its own to the loop, at several times the price of a small call, and falls behind a busy
watch; here whatever has arrived is taken at once, where it is needed. Mirrors RFC 9113 and gRPC's "PROTOCOL-HTTP2".

Header compression with state is turned off (a table of size 0), so that a header block means the same wherever it stands.
"""
