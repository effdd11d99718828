"""What a definition does to objects, without a request and without a store.

Owns compiled versions: decoding, defaults, pruning, validation with ratcheting, conversion and field management of the objects of a CRD,
put together as endpoints, worker processes and tools need them. Must not know HTTP, users or stores.
Mirrors the part of getOrCreateServingInfoFor that makes strategies and codecs (apiextensions-apiserver
pkg/apiserver/customresource_handler.go).
"""
