"""Worker processes: heavy work runs beside the event loop, and ends with the request that needs it.

Owns the processes, what crosses between them and the server, and the order in which users get them. Must not know what the work is
about: a job is a function of a module and its arguments, and may ask the server that started it.
Stands in for the preemptive threads of Go, which upstream needs no room for.
"""
