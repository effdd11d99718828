"""Worker processes: run heavy work beside the event loop, and end it with its request.

Owns the processes, their messages to and from the server, and the fair order of users. Must not know the work: a job is a function of
a module and its arguments, and may ask its server.
Stands in for the preemptive threads of Go, which upstream needs no room for.
"""
