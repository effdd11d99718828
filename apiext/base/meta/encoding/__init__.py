"""Encodings of JSON values: JSON, CBOR, the Protobuf wire format, and texts that are not UTF-8.

Owns the libraries for these. Must not know kinds or requests.
Mirrors apimachinery pkg/runtime/serializer and pkg/util/json.
"""
