"""Forms of Go's standard library that clients see: printed values, URLs, times, structs, and errors of encoding/json.

Owns texts and orders that must equal the reference's; what only hand-made bytes provoke has own texts. Must not know Kubernetes types.
Mirrors Go's fmt, net/url, time and encoding/json.
"""
