"""Measures kube-apiserver and apiext in one run, and prints one table with both and their ratios."""

import argparse
import functools
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hack.lib import environments
from hack.lib.bench import (
    admission,
    aggregated,
    audit,
    connections,
    conversion,
    embedded_store,
    envtest,
    fairness,
    first_definition,
    growth,
    idle_watchers,
    loaded,
    loadgen,
    many_definitions,
    migration,
    null_server,
    report,
    targets,
    validation,
    workers,
    workload,
)
from hack.lib.bench.client import Client
from hack.lib.reference import golang
from hack.lib.servers import process, resources

_IDLE_CRDS = 5
"""Definitions for the median of the time until a definition is served."""


@dataclass(slots=True)
class Measured:
    """The measurements of one target, by row."""

    results: dict[str, loadgen.Result] = field(default_factory=dict)
    cpu: dict[str, report.Processors] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def measure(target: targets.Target, binary: Path, options: argparse.Namespace) -> Measured:
    """Start a target, measure all rows and stop it."""
    measured = Measured()
    try:
        measured.figures["start to ready, s"] = target.start()
        client = Client(target.access())
        measured.figures |= first_definition.measure_idle(target)
        measured.figures["CRD created to first 200, ms"] = client.median_serving_time(_IDLE_CRDS)
        crd = workload.crd()
        client.serve(crd)
        client.wait_until_writable(crd)
        if not options.only or idle_watchers.LABEL in options.only:
            measured.figures |= idle_watchers.measure(target)
        measured.figures["longest GET beside a 3 MiB YAML body, ms"] = client.longest_get_beside(workload.large_yaml())
        for row in workload.rows(options.objects, options.seconds):
            if not options.only or row.name in options.only or row.name in ("create", "delete"):
                _measure_row(target, binary, row, measured)
        if not options.only or validation.LABEL in options.only:
            _measure_validation(target, client, binary, options.seconds, measured)
        if not options.only or fairness.ROW in options.only:
            measured.figures |= fairness.measure(target, binary, 4 * options.seconds)
        measured.figures["memory after this run, MiB"] = resources.proportional_mib(target.pids())
        if options.fill:
            loadgen.run(binary, **target.access(), Clients=workload.CLIENTS, **workload.fill(options.fill))
            # a new connection: servers close a connection after such a long idle time
            Client(target.access()).call("GET", f"{workload.COLLECTION}?resourceVersion=0")
            measured.figures[f"memory with {options.fill} objects, MiB"] = resources.proportional_mib(target.pids())
            measured.figures |= fairness.measure_beside_one(target, binary, options.fill, 2 * options.seconds)
            label = f"first list of {options.fill} objects after a restart, s"
            measured.figures[label] = conversion.first_list_seconds(target, workload.COLLECTION)
        if options.convert and (not options.only or conversion.LABEL in options.only):
            _measure_conversion(target, binary, options.convert, measured)
        if options.guard and (not options.only or admission.LABEL in options.only):
            _measure_admission(target, binary, options.guard, measured)
        if options.migrate and (not options.only or migration.LABEL in options.only):
            send = functools.partial(loadgen.run, binary, **target.access())
            measured.figures |= migration.measure(target, Client(target.access()), send, options.migrate)
        if not options.aggregated and (not options.only or first_definition.LABEL in options.only):
            measured.figures |= first_definition.measure_first(target)
        if options.definitions and (not options.only or many_definitions.LABEL in options.only):
            measured.figures |= many_definitions.measure(target, options.definitions)
    finally:
        target.stop()
    return measured


def measure_clients(target: targets.Target, binary: Path, options: argparse.Namespace) -> Measured:
    """Start a target, measure some rows with several numbers of clients, and stop it."""
    measured = Measured()
    try:
        target.start()
        client, crd = Client(target.access()), workload.crd()
        client.serve(crd)
        client.wait_until_writable(crd)
        for row in workload.rows_of_clients(options.objects, options.seconds, options.clients):
            if not options.only or row.name in options.only or row.name.startswith(("create", "delete")):
                with connections.counted(target.proxied_port()) as counted:
                    _measure_row(target, binary, row, measured)
                if counted.most:
                    measured.figures[f"connections of the host: {row.name}"] = counted.most
        if not options.only or idle_watchers.LABEL in options.only:
            measured.figures |= idle_watchers.measure_proxied(target)
    finally:
        target.stop()
    return measured


def _measure_proxy(target: null_server.NullServer, binary: Path, options: argparse.Namespace) -> Measured:
    """Start a host with a server that does nothing, measure the rows that it can answer, and stop them."""
    measured = Measured()
    try:
        target.start()
        for row in workload.rows(options.objects, options.seconds):
            if row.name in null_server.ROWS and (not options.only or row.name in options.only):
                _measure_row(target, binary, row, measured)
    finally:
        target.stop()
    return measured


def _measure_row(target: targets.Target, binary: Path, row: workload.Row, measured: Measured) -> None:
    before = _used(target)
    try:
        result = loadgen.run(binary, **target.access(), **({"Clients": workload.CLIENTS} | row.run))
    except loadgen.LoadError as error:
        measured.failed[row.name] = str(error)
        print(f"  {target.name}: {row.name}: {error}", file=sys.stderr, flush=True)
        return
    count = max(1, result.events or result.requests)
    measured.results[row.name] = result
    measured.cpu[row.name] = report.Processors(*((now - then) * 1000 / count for now, then in zip(_used(target), before, strict=True)))
    print(f"  {target.name}: {row.name}: {result.rate:,.0f}/s", file=sys.stderr, flush=True)


def _used(target: targets.Target) -> tuple[float, float, float, float]:
    """Return the processor time in seconds of the server, its store, finished load generators and the host before the server."""
    ended, stores, hosts = os.times(), [target.etcd.process.pid] if target.etcd else [], target.host_pids()
    servers = [pid for pid in target.pids() if pid not in hosts]
    load = ended.children_user + ended.children_system
    return resources.cpu_seconds(servers), resources.cpu_seconds(stores), load, resources.cpu_seconds(hosts)


def _measure_validation(target: targets.Target, client: Client, binary: Path, seconds: float, measured: Measured) -> None:
    for crd in validation.definitions():
        client.serve(crd)
        client.wait_until_writable(crd)
    send = functools.partial(loadgen.run, binary, **target.access(), Clients=workload.CLIENTS)
    cost = validation.measure(send, lambda: resources.cpu_seconds(target.pids()), seconds)
    measured.figures[validation.LABEL] = cost.median
    spread = f"{cost.lowest:.3f} to {cost.highest:.3f} ms in {validation.ROUNDS} rounds of together {cost.requests} requests"
    print(f"  {target.name}: {validation.LABEL}: median {cost.median:.3f}, {spread}", file=sys.stderr, flush=True)


def _measure_conversion(target: targets.Target, binary: Path, count: int, measured: Measured) -> None:
    send = functools.partial(loadgen.run, binary, **target.access())
    with conversion.running(loadgen.webhook(binary)) as webhook:
        measured.figures |= conversion.measure(target, webhook, Client(target.access()), send, count)
    converting: conversion.Converting | None = None
    if isinstance(target, targets.Apiext):
        converting = conversion.converting_itself
    elif isinstance(target, targets.Reference):
        converting = target.converting
    measured.figures |= conversion.measure_others(target, send, count, converting)


def _measure_admission(target: targets.Target, binary: Path, count: int, measured: Measured) -> None:
    send = functools.partial(loadgen.run, binary, **target.access())
    with conversion.running(loadgen.webhook(binary)) as webhook:
        measured.figures |= admission.measure(Client(target.access()), webhook, send, count)


def _several(text: str) -> int:
    count = int(text)
    if count < 2:
        raise argparse.ArgumentTypeError(f"{count} is less than 2")
    return count


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/bench", description=__doc__)
    parser.add_argument("--objects", type=int, default=2000, help="objects in the collection, a multiple of 200 (default: 2000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each timed row (default: 5)")
    parser.add_argument("--fill", type=int, default=10000, help="objects for the last memory figure, 0 for none (default: 10000)")
    parser.add_argument(
        "--convert", type=int, default=10000, help="objects to convert by a webhook and by rules, 0 for none (default: 10000)"
    )
    parser.add_argument("--guard", type=int, default=5000, help="creates that webhooks and policies guard, 0 for none (default: 5000)")
    parser.add_argument("--migrate", type=int, default=10000, help="objects to migrate to another version, 0 for none (default: 10000)")
    parser.add_argument("--definitions", type=int, default=500, help="real CRDs to create and serve, 0 for none (default: 500)")
    parser.add_argument("--sqlite", action="store_true", help="measure apiext on its embedded store too")
    parser.add_argument("--aggregated", action="store_true", help="measure apiext behind kube-apiserver, against that one's own CRDs")
    parser.add_argument(
        "--clients", type=int, nargs="+", metavar="N", help="measure some rows with N clients each, and their connections, instead"
    )
    parser.add_argument("--administrator", action="store_true", help="with --aggregated: as a user whose rights need no question")
    parser.add_argument("--webhook", action="store_true", help="with --aggregated: also with --authorization-mode=Webhook alone")
    parser.add_argument("--no-reference", action="store_true", help="leave kube-apiserver out")
    parser.add_argument("--envtest", action="store_true", help="measure the start of envtest and of the test kit instead")
    parser.add_argument("--audit", action="store_true", help="measure both with audit at level Metadata and without it instead")
    parser.add_argument("--loaded", action="store_true", help="measure the first heavy work of new processes on a busy machine instead")
    parser.add_argument("--workers", type=_several, metavar="N", help="measure apiext with one process and with N workers instead")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="measure a growing collection instead, and draw latency and memory (.svg, .png)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=growth.SIZES, help="with --plot: numbers of objects, in rising order")
    parser.add_argument(
        "--rounds", type=int, default=5, help="with --envtest, --loaded, --workers and --audit: rounds of each (default: 5)"
    )
    parser.add_argument("--only", action="append", metavar="ROW", help="measure this row only; may be repeated")
    return parser


def _options() -> argparse.Namespace:
    """Return the options of the command line; end with an error that names the rows if --only names another."""
    parser = _parser()
    options = parser.parse_args()
    if options.aggregated:
        options.convert = options.migrate = options.guard = options.definitions = 0
    names = _row_names(options)
    for row in options.only or ():
        if row not in names:
            parser.error(f"argument --only: unknown row {row!r}; the rows are {', '.join(map(repr, names)) or 'fixed'}")
    return options


def _rows(options: argparse.Namespace) -> list[workload.Row]:
    if options.clients:
        return workload.rows_of_clients(options.objects, options.seconds, options.clients)
    return workload.rows(options.objects, options.seconds)


def _row_names(options: argparse.Namespace) -> list[str]:
    """Return the rows that --only can name beside the other options; none for measurements that are done as a whole."""
    if options.envtest or options.loaded:
        return []
    if options.workers:
        return list(workers.ROWS)
    if options.audit:
        return list(audit.ROWS)
    if options.plot:
        return []
    if options.clients:
        return [*(row.name for row in _rows(options)), idle_watchers.LABEL]
    others = {
        idle_watchers.LABEL: True,
        validation.LABEL: True,
        fairness.ROW: True,
        conversion.LABEL: options.convert,
        admission.LABEL: options.guard,
        migration.LABEL: options.migrate,
        first_definition.LABEL: not options.aggregated,
        many_definitions.LABEL: options.definitions,
    }
    return [row.name for row in _rows(options)] + [label for label, wanted in others.items() if wanted]


def main() -> int:
    """Run the benchmark and return the exit code: 1 if a target does not start or the load fails."""
    options = _options()
    if options.envtest:
        return envtest.main(options.rounds)
    try:
        run = {"objects": options.objects, "seconds": options.seconds, "rounds": options.rounds, "only": options.only or ()}
        if options.workers:
            return workers.main(options.workers, **run)
        if options.audit:
            return audit.main(**run, reference=not options.no_reference)
        if options.loaded:
            return loaded.main(rounds=options.rounds, reference=not options.no_reference)
        binary = loadgen.build()
        with tempfile.TemporaryDirectory(prefix="apiext-bench-") as folder:
            if options.plot:
                return _plot(_targets(Path(folder), options), binary, options)
            one = measure_clients if options.clients else measure
            found = {target.name: one(target, binary, options) for target in _targets(Path(folder), options)}
            if options.aggregated and not options.clients:
                proxy = null_server.NullServer(Path(folder) / "null", binary)
                found[proxy.name] = _measure_proxy(proxy, binary, options)
    except (golang.BuildError, process.ProcessError, loadgen.LoadError, environments.InstallationError) as error:
        print(f"hack/bench: {error}", file=sys.stderr)
        return 1
    if options.sqlite and not options.clients:
        found[targets.SQLITE].figures["empty SQLite store opened, ms"] = embedded_store.open_milliseconds()
    print(report.table(found, [row.name for row in _rows(options)]))
    if options.aggregated and not options.clients:
        print(report.proxy_shares(found[null_server.NAME], found[aggregated.TRUSTING]))
    return 0


def _plot(chosen: list[targets.Target], binary: Path, options: argparse.Namespace) -> int:
    found = {target.name: growth.measure(target, binary, options.sizes, options.seconds) for target in chosen}
    print(growth.table(found))
    growth.draw(found, options.plot)
    return 0


def _targets(folder: Path, options: argparse.Namespace) -> list[targets.Target]:
    if options.aggregated:
        cluster = functools.partial(aggregated.Cluster, administrators=options.administrator)
        plain = [] if options.no_reference else [cluster(folder / "plain", plain=True)]
        ways = [cluster(folder / "aggregated")] if options.webhook else []
        return [*plain, *ways, cluster(folder / "trusting", trusting=True)]
    chosen: list[targets.Target] = [] if options.no_reference else [targets.Reference(folder / "reference")]
    chosen.append(targets.Apiext(folder / "apiext"))
    if options.sqlite:
        chosen.append(targets.Apiext(folder / "sqlite", embedded=True))
    return chosen


if __name__ == "__main__":
    sys.exit(main())
