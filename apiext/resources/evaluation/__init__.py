"""What a definition does to objects, without a request and without a store.

Owns compiled definitions and versions: decoding, defaults, pruning, validation with ratcheting, conversion, field management and the cost
of rules for the objects of a CRD, put together as endpoints, worker processes and tools need them; and definitions as a server creates and
updates them. It is the door of tools to all of that. Must not know HTTP, users or stores.
Mirrors the part of getOrCreateServingInfoFor that makes strategies and codecs (apiextensions-apiserver
pkg/apiserver/customresource_handler.go).
"""
