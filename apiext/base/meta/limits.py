"""Limits on requests of clients and on what the server keeps for them, each with its unit and its reason.

Limits of the reference's validation (lengths of names, sizes of annotations) are with their rules, and sizes of caches and batches
with their owners.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

# --- connections ------------------------------------------------------------------------------------------------------

LISTEN_BACKLOG: Final = 1024
"""Connections that the kernel queues until the server accepts them."""
MAX_RECEIVED_AHEAD_BYTES: Final = 64 * 1024
"""Bytes that the kernel receives ahead of the server on each connection, and that the event loop therefore decrypts at once. This is where
Linux begins; it would grow to megabytes while a client sends, and 150 such clients then hold the event loop for 0.1 s at a time.
"""
MAX_UNAUTHENTICATED_CONNECTIONS: Final = 512
"""Open connections that have not authenticated a request, fewer where the process may open less than 2,048 files. Beyond, the one that
waits longest for its client makes room for a new one.
"""
MAX_PIPELINED_REQUESTS: Final = 2
"""Requests of a connection that are parsed while an earlier one is served. A head of the maximum size takes several times its bytes."""
MAX_DRAINED_BYTES: Final = 256 * 1024
"""Bytes of a refused body that are read so that the connection can be used again; the limit of Go's net/http."""
MAX_LINES_AT_ONCE: Final = 512
"""Lines of a message, and chunks of its body, that are parsed before other connections have their turn: one to three milliseconds."""
MAX_LINES_PART_BYTES: Final = 4 * 1024
"""Bytes of data with more lines that are parsed at a time: at most 800 chunks of one byte, in two milliseconds."""

# --- heads of requests ------------------------------------------------------------------------------------------------

MAX_LINE_BYTES: Final = 64 * 1024
"""Bytes of a line of a head. aiohttp enforces this limit."""
MAX_HEAD_BYTES: Final = 256 * 1024
"""Bytes of a head: little memory for each open connection."""
MAX_ACCEPTED_TYPES: Final = 1_000
"""Clauses of an Accept header, and parameters of a clause, that the server reads, in 2 ms. A header of 64 KiB has 30,000."""
MAX_QUERY_PARAMETERS: Final = 10_000
"""Parameters of a query. A longer query counts as empty, as in Go's net/url."""
MAX_HEAD_FIELDS: Final = 1000
"""Header fields of a request."""
MAX_PROXIED_HEAD_BYTES: Final = (1 << 20) + 4096
"""Bytes of a head from a front proxy; as kube-apiserver 1.37.2 (MaxHeaderBytes, and what Go's net/http adds)."""
MAX_PROXIED_HEAD_FIELDS: Final = 16_384
"""Header fields of a request from a front proxy, which sends one X-Remote-Group for each group of a user; as kube-apiserver 1.37.2."""

# --- bodies -----------------------------------------------------------------------------------------------------------

MAX_BODY_BYTES: Final = 3 * 1024 * 1024
"""Bytes of a request body, and of a line of an import; kube-apiserver's MaxRequestBodyBytes."""
MAX_DEPTH: Final = 200
"""Levels of nested objects and lists that a request body, a patch, the result of a patch and a schema may have.

orjson writes 254 levels; the difference leaves room for what apiext wraps around an object (lists, events, OpenAPI documents). Every
recursive function of apiext handles this many levels within Python's default recursion limit of 1000 frames.
"""
MAX_STRICT_ERRORS: Final = 100
"""Unknown fields of a body, and duplicate fields, that are reported; the limit of the reference's decoder for each."""

# --- YAML -------------------------------------------------------------------------------------------------------------

MAX_ALIASED_CHARACTERS: Final = MAX_BODY_BYTES
"""Characters of YAML that all aliases of a body stand for, as if they were written out.

With this limit a body decodes to no more than twice what one without aliases can. The reference limits the number of aliased values,
of which a few long texts make an object of hundreds of megabytes.
"""
MAX_DIRECTIVE_BYTES: Final = 1024
"""Bytes before a YAML document that has %TAG directives. The parser takes time quadratic in their number and length."""

# --- patches ----------------------------------------------------------------------------------------------------------

MAX_PATCH_OPERATIONS: Final = 10_000
"""Operations of one JSON patch; kube-apiserver's limit."""
MAX_COPIED_BYTES: Final = MAX_BODY_BYTES
"""Bytes that the "copy" operations of one JSON patch may add to a document; kube-apiserver's limit. Each copy can double a document."""

# --- validation -------------------------------------------------------------------------------------------------------

MAX_VIOLATIONS: Final = 20_000
"""Violations after which validation of an object stops; the reference runs into its timeout before it reports as many."""
MAX_ERROR_CHARACTERS: Final = 1 << 20
"""Characters of field errors, and of paths of unknown or duplicate fields, after which no more are reported.

Each error shows its value and the whole path to it: without a limit the text can be as long as the square of the body.
"""
MAX_MESSAGE_CHARACTERS: Final = 2 << 20
"""Characters of a Status message: room for the texts of the longest enum, which an error names. Errors of syntax quote the body, or name
each of its lines."""

# --- rules ------------------------------------------------------------------------------------------------------------

MAX_CEL_RESULT: Final = 16 << 20
"""Characters or elements that one call of a CEL function may produce. The cost of `replace`, `join` and `format` follows their
arguments: from two texts of a megabyte `replace` could make a terabyte."""

# --- managed fields ---------------------------------------------------------------------------------------------------

MAX_UPDATE_MANAGERS: Final = 10
"""Managers of updates in the managedFields of an object. The oldest are merged; more would make objects grow (DefaultMaxUpdateManagers)."""

# --- patterns of schemas ----------------------------------------------------------------------------------------------

MAX_PATTERN_BYTES: Final = 16 << 20
"""Bytes that one compiled pattern may take. A class of Unicode letters takes 15 KB each time that it is repeated: to compile a
pattern of this size takes a third of a second."""
MAX_OPTIONAL_REPETITIONS: Final = 10_000
"""Sum of the optional repetitions of a pattern, such as 1000 in `a{0,1000}`. RE2 joins those of equal neighbours, and compiles
them in quadratic time."""

# --- tables -----------------------------------------------------------------------------------------------------------

MAX_PATH_STEPS: Final = 10_000
"""Steps of the path of a printer column. A longer path is malformed. It is parsed in the event loop."""
MAX_PATH_VALUES: Final = 100_000
"""Steps and values of the evaluation of the cells of a row. The cell with more is empty, as are those after it: `['x','x']` doubles the
values each time that it is repeated."""
MAX_ROW_CHARACTERS: Final = 2 << 20
"""Characters of the cells of a row after which further cells are empty. Any object can be printed once; a definition can have
thousands of columns.
"""

# --- selectors --------------------------------------------------------------------------------------------------------

LONG_SELECTOR: Final = 4096
"""Characters of a request's selectors from which they count for MAX_LONG_SELECTORS."""
MAX_LONG_SELECTORS: Final = 4 << 20
"""Characters of the long selectors of all lists and watches at a time. Parsed, they take up to fifty times as many bytes."""
MAX_INVALID_VALUES: Final = 1000
"""Invalid values of one requirement of a selector that an error names; each is quoted with the rules, a hundred times its size."""

# --- the store --------------------------------------------------------------------------------------------------------

MAX_STORED_BYTES: Final = 1_572_864
"""Bytes of an encoded object in SQLite; etcd's default limit of a request, with which an object fits into either store.

The limit of an etcd is its own.
"""
MAX_ETCD_MESSAGE_BYTES: Final = 2 << 20
"""Bytes of a request that the reference's etcd client sends at most. SQLite names this limit for writes that are larger."""
MAX_SENT_VALUE_BYTES: Final = 8 << 20
"""Bytes of a value that are sent to an etcd, which may have a greater limit than its default. Defaults can make 50 MB of a small body: to
send these only for a refusal would hold the event loop for 0.1 s."""
MAX_STORED_GROWTH_BYTES: Final = 1024
"""Bytes by which an update may lengthen a value in SQLite that an older version stored beyond the limit: room for deletionTimestamp."""

MIGRATED_PER_SECOND: Final = 200
"""Objects that an automatic migration rewrites each second. Clients' writes take no longer meanwhile; beside 500 they take half as long
again."""

# --- watches ----------------------------------------------------------------------------------------------------------

MAX_UNSENT_BYTES: Final = 64 << 20
"""Bytes of the changes of a resource that are not yet matched with all watches. Beyond, its watches end and their clients resume."""
MAX_QUEUED_EVENTS: Final = 4096
"""Events that wait for the client of one watch. Beyond, the watch ends and the client resumes."""
MAX_QUEUED_BYTES: Final = 16 << 20
"""Bytes of the events that wait for the client of one watch; several events of the largest objects fit."""

# --- the event loop ---------------------------------------------------------------------------------------------------

MAX_INLINE_BYTES: Final = 32 * 1024
"""Bytes of a request body, and of the stored object that a write changes, above which a write runs in a worker process. Parsing and
validation of an object take about 5 ms from here on."""
MAX_INLINE_YAML_BYTES: Final = 8 * 1024
"""The same for a body in YAML, which takes ten times longer to parse."""
MAX_OWNERS: Final = 1000
"""Owner references of an object that the garbage collector follows: the graph takes each object in one piece."""
MAX_INLINE_COPIES: Final = 1
"""Occurrences of "copy" in a JSON patch above which it runs in a worker process: each of these operations can double the object."""
MAX_INLINE_SECONDS: Final = 0.0025
"""Seconds that the compilation and the matching of patterns may take in the event loop for one write; then it starts again in a worker
process. Both depend on what the patterns say, not only on their length."""
MAX_INLINE_STEPS: Final = 1000
"""Steps of some microseconds each that a write may take in the event loop for the compilation of schemas and the report of errors; then it
starts again in a worker process. A schema can have more than an object's size tells."""
MAX_INLINE_PATTERN_SIZE: Final = 3000
"""Instructions of a pattern, as estimated from its text, above which only worker processes compile it: a compilation takes up to a
microsecond for each. The largest pattern of the well-known definitions, IP addresses, has 2,206."""
MAX_INLINE_PATTERN_STEPS: Final = 100_000
"""Instructions of a pattern times bytes of a value above which only worker processes match them. Each step takes up to 25 nanoseconds
where the states of the pattern are many, else far less."""
MAX_INLINE_EXPRESSION_LENGTH: Final = 500
"""Characters of the rules of a schema node above which they are not compiled on the event loop: each takes about 5 microseconds."""
MAX_SERVER_EXPRESSION_LENGTH: Final = 4_000
"""Characters of a rule above which only worker processes compile it, each for itself. Well-known definitions have rules of up to 1,270."""
MAX_INLINE_RULE_SCHEMA_BYTES: Final = 64 * 1024
"""Bytes of a schema, in JSON, above which its rules are not collected on the event loop: that takes about a millisecond from here on."""
MAX_INLINE_EVALUATION_COST: Final = 4_000
"""Cost units of an evaluation above which it runs in a worker process. A unit takes 0.01 to 0.1 microseconds, of URLs and quantities 1."""
MAX_INLINE_RULE_COST: Final = 10_000
"""Cost units of all rules of an object above which worker processes evaluate them."""

BOUNDED_STRETCH: Final = 8
"""Factor of these limits, apart from those of evaluations, for work that runs in a thread of the server: some 20 ms."""
BOUNDED_COST_STRETCH: Final = 25
"""The same factor for costs of evaluations: 100,000 units take about 6 ms."""
MAX_BOUNDED_JOBS: Final = 2
"""Jobs of that thread, the waiting one included; more go to worker processes."""
INLINE_STRETCH: Final = 8
"""Factor of these limits for writes, apart from those of evaluations, while the start of a worker process is late: the event loop is held
for some 25 ms then."""

MAX_INLINE_RENDERING_BYTES: Final = 128 * 1024
"""Bytes of a stored object above which a worker process renders it for its first reader, and of an object that a webhook has converted
above which a worker process reads it. Either takes about 4 ms from here on."""

# --- flow control -----------------------------------------------------------------------------------------------------

MAX_CLASSIFICATIONS: Final = 4096
"""Classifications of requests by FlowSchemas that are remembered; all are forgotten when there are more."""
MAX_CLASSIFICATION_CHARACTERS: Final = 1024
"""Characters of a request's user, groups and path above which its classification is not remembered: with the number of those that are,
this limits their memory to a few megabytes.
"""
MAX_CACHED_HANDS: Final = 4_096
"""Flows of a priority level whose queues are remembered, some 300 bytes each; dealing them takes several microseconds."""
MAX_FLOW_QUEUES: Final = 1024
"""Queues of a priority level, of half a kilobyte each: so many are made within 5 ms. The reference allows ten million; with fewer than are
configured, flows share a queue more often.
"""
MAX_QUEUE_WAIT_SECONDS: Final = 60.0
"""Seconds that a request may wait for seats, whatever its deadline; the reference's limit."""

# --- webhooks ---------------------------------------------------------------------------------------------------------

MAX_HOOK_RESPONSE_BYTES: Final = 3 << 20
"""Bytes of the answer of a webhook: the largest object that a client can write. A call for several objects
whose answer would be larger is divided. The reference has no limit."""
MAX_REVIEW_BYTES: Final = 2 * MAX_STORED_BYTES + 64 * 1024
"""Bytes of an AdmissionReview: the largest object before and after a write, with room for the user and the options. The reference has no
limit."""
MAX_HOOK_CALLS: Final = 256
"""Calls of one admission webhook at a time, and so connections to it. Further ones wait; the server's writes rarely are as many."""
MAX_HOOK_CLIENTS: Final = 200
"""Addresses of admission webhooks whose connections are kept; the reference's limit."""
MAX_HOOK_ERROR_CHARACTERS: Final = 4096
"""Characters of the reason that a webhook gives for a failure: each of the objects of a batch is reported with it."""
MAX_HOOK_STATUS_BYTES: Final = 64 * 1024
"""Bytes of an answer that is examined for the reason of a failure: parsing takes less than a millisecond. A longer one has none."""
MAX_CONVERSION_FAILURES: Final = 100
"""Objects of a batch that further calls find to be those a webhook refuses; the error of the reference's list names as many objects."""

# --- worker processes -------------------------------------------------------------------------------------------------

MAX_WORKERS: Final = 2
"""Worker processes. One user gets all of them but one at a time, so that another user need not wait for the end of long jobs."""
MAX_WAITING_JOBS: Final = 64
"""Jobs of one user that wait for a worker process; each may hold a body. Beyond, requests are answered 429."""
MAX_JOB_SECONDS: Final = 60.0
"""Seconds of one job from its beginning in a process; the default of the request timeout. A request that ends earlier ends its job."""
MAX_SHORT_JOB_SECONDS: Final = 0.25
"""Seconds after which a job gives its turn to others and goes on beside them; with so much processor time it gets a lower priority."""
MAX_LONG_JOBS: Final = 3
"""Such jobs, each in a process beyond MAX_WORKERS. One user has all but one, and one for each kind of write to a resource."""
MAX_BLOCKED_WORKER_SECONDS: Final = 0.2
"""Seconds that a job may wait for another server, such as a webhook, before its turn goes to another job."""
MAX_BLOCKED_RENDERING_SECONDS: Final = 0.05
"""The same for a job that renders stored objects; it ends then, and starts again with the answer. Its work before takes about as long."""
MAX_KEPT_ANSWER_BYTES: Final = 8 << 20
"""Bytes of the answers that are kept for such a start. A job that gets more waits for further ones as other jobs do."""
MAX_WORKERS_ASIDE: Final = 4
"""Worker processes beyond MAX_WORKERS whose jobs wait for other servers."""
MAX_WORKER_BYTES: Final = 1 << 30
"""Bytes of memory of one worker process. The parsed form of the largest body takes some hundred MB."""
MAX_IDLE_WORKER_BYTES: Final = 256 << 20
"""Bytes of memory that a worker process may have used once and stay for the next job."""
WORKER_IDLE_SECONDS: Final = 30.0
"""Seconds after which an idle worker process ends that has worked. A new one takes 10 ms of processor time, and then compiles schemas."""

# --- CEL --------------------------------------------------------------------------------------------------------------

MAX_CEL_EXPRESSION_CODE_POINTS: Final = 100_000
"""Characters of an expression; the limit of cel-go's parser."""
MAX_CEL_NODES: Final = 200_000
"""Nodes of an expression's syntax tree. Only macros that copy their operand reach it, as each optMap of a chain doubles the tree."""

# --- logs -------------------------------------------------------------------------------------------------------------

MAX_LOG_LINE_BYTES: Final = 4096
"""Bytes of a log line, tracebacks included; a pipe takes as many in one piece, and a client cannot fill a disk with its values."""


def is_enough(paths: Collection[str]) -> bool:
    """Return whether no more paths of unknown or duplicate fields are reported."""
    return len(paths) >= MAX_STRICT_ERRORS or sum(map(len, paths)) >= MAX_ERROR_CHARACTERS
