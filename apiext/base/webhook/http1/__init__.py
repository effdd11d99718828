"""HTTP/1.1 calls on kept connections: what calls of webhooks use of HTTP.

Owns addresses, proxies, connections and the bounds of an answer. Must not know redirects, credentials and the texts of errors.
Mirrors Go's net/http (Transport). The parser of answers is aiohttp's.

Why not aiohttp's client: a call costs it some 250 µs of processor time, a third of a create that a webhook guards. Here a request is one
write, and nothing is made for a call but a future and a timer.
"""
