"""gRPC calls over HTTP/2 on the asyncio event loop: the part of both protocols that etcd's API uses.

Owns connections, frames, flow control and the outcome of a call. Must not interpret messages.
Mirrors RFC 9113 and gRPC's PROTOCOL-HTTP2.md. Tested against `h2` as an independent peer.

Why not a library (measured for this project):
- `grpc.aio` needs three times the processor time for each call, since it passes every message from its own thread to the event loop.
- Watches over `grpc.aio` fell seconds behind while a hundred clients received events. Here one read takes all messages that have arrived.
- The client of `aetcd` takes one plain-text endpoint, without TLS and failover.
- `python-etcd3` 0.12 (2020) can not be imported with protobuf 4 or later, except with protobuf's slow pure-Python runtime: 1,500 puts
  a second against 7,900.

The client announces a header table of size 0. A header block therefore refers to no earlier block, and repeated blocks are decoded once.
"""
