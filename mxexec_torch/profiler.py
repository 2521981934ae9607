"""mx.profiler over torch.profiler: the same calls, a Chrome trace in the file, a table of times.

set_config(filename=...); set_state("run"); ...; set_state("stop"); dump(). Operators appear under MXNet's names, their gradients as
`_backward_<name>`; in the trace also torch's own (`aten::addmm`), as the category "torch". Ranges, counters and markers of the script have
their own names.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from . import ranges
from .base import c_str, c_str_array, check_call, py_str

__all__ = [
    "Counter", "Domain", "Event", "Frame", "Marker", "Task", "c_str", "c_str_array", "check_call", "dump", "dump_profile", "dumps", "pause",
    "profiler_set_config", "profiler_set_state", "py_str", "resume", "set_config", "set_kvstore_handle", "set_state",
]  # fmt: skip

_PROCESSES = ("worker", "server")
_SORTING = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}
_OPERATORS = "operator"
_CUSTOM_OPERATORS = "Custom Operator"
_GRADIENT = "autograd::engine::evaluate_function"  # torch's range around a node of the autograd graph


class _Session:
    """What is recorded: the settings, whether recording is on, and all events since the last finished dump."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {"filename": "profile.json"}
        self.running = False
        self.paused = False
        self._torch: profile | None = None
        self.events: list[dict[str, Any]] = []  # of a Chrome trace
        self.durations: list[tuple[str, str, float]] = []  # (domain, name, microseconds), for the table

    @property
    def active(self) -> bool:
        return self.running and not self.paused

    def switch(self) -> None:
        """Starts or stops torch's profiler as the state wants it."""
        if self.active and self._torch is None:
            activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
            self._torch = profile(activities=activities)
            self._torch.start()
        elif not self.active:
            self.collect()
        ranges.switch(self.active)

    def collect(self) -> None:
        """Stops torch's profiler and takes over its events."""
        if self._torch is None:
            return
        ended, self._torch = self._torch, None
        ended.stop()
        kineto: Any = ended.profiler.kineto_results if ended.profiler is not None else None
        start = 0.0 if kineto is None else kineto.trace_start_ns() / 1000  # torch counts from there
        for domain, name, event, duration in _operators(ended.events() or ()):
            place = {"pid": os.getpid(), "tid": event.thread}
            self.events.append({"name": name, "cat": domain, "ph": "X", "ts": start + event.time_range.start, "dur": duration, **place})
            if domain != "torch":
                self.durations.append((domain, name, duration))

    def refresh(self) -> None:
        """Takes over what was recorded so far and goes on recording."""
        self.collect()
        self.switch()

    def add(self, phase: str, name: str, domain: str, **more: Any) -> None:
        """Records an event of the script's own."""
        if self.active:
            self.events.append({"name": name, "cat": domain, "ph": phase, "ts": _now(), "pid": os.getpid(), "tid": 0, **more})

    def write(self) -> None:
        """Writes the trace file."""
        with open(str(self.config["filename"]), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": self.events, "displayTimeUnit": "ms"}, file)


def _operators(events: Iterable[Any]) -> Iterator[tuple[str, str, Any, float]]:
    """Domain, name, event and microseconds of what torch recorded: operators by their ranges, their gradients by torch's sequence numbers."""
    owners: dict[int, Any] = {}  # sequence number of an autograd node -> the range in which the forward pass made it
    gradients: dict[int, list[Any]] = {}  # id(range) -> its autograd nodes in the backward pass
    events = list(events)
    for event in events:
        if event.name.startswith(ranges.OPERATOR):
            name = event.name[len(ranges.OPERATOR) :]
            custom = _enclosing(event.cpu_parent, ranges.CUSTOM)
            if custom is not None:
                yield _CUSTOM_OPERATORS, f"{custom.name[len(ranges.CUSTOM):]}::{name}", event, event.time_range.elapsed_us()
            elif name != "Custom":  # shown as what its Python code does
                yield _OPERATORS, name, event, event.time_range.elapsed_us()
        elif event.name.startswith(ranges.CUSTOM):
            own = event.time_range.elapsed_us() - sum(e.time_range.elapsed_us() for e in events if _enclosing(e.cpu_parent, "mxnet") is event)
            yield _CUSTOM_OPERATORS, f"{event.name[len(ranges.CUSTOM):]}::pure_python", event, own
        else:
            yield "torch", event.name, event, event.time_range.elapsed_us()
            owner = _enclosing(event.cpu_parent, ranges.OPERATOR) if event.sequence_nr >= 0 else None
            if event.name.startswith(_GRADIENT):
                if event.sequence_nr in owners:
                    gradients.setdefault(id(owners[event.sequence_nr]), [owners[event.sequence_nr]]).append(event)
            elif owner is not None:
                owners[event.sequence_nr] = owner  # the last one: those before it made no node
    for owner, *nodes in gradients.values():
        yield _OPERATORS, f"_backward_{owner.name[len(ranges.OPERATOR):]}", nodes[0], sum(e.time_range.elapsed_us() for e in nodes)


def _enclosing(event: Any, prefix: str) -> Any:
    """The innermost range with such a name around an event, itself included."""
    while event is not None and not event.name.startswith(prefix):
        event = event.cpu_parent
    return event


def _now() -> float:
    return time.time_ns() / 1000


_session = _Session()


def _check_process(profile_process: str) -> None:
    """Errors: KeyError for anything but 'worker' and 'server' (there are no servers: the word changes nothing)."""
    if profile_process not in _PROCESSES:
        raise KeyError(profile_process)


def set_kvstore_handle(handle: Any) -> None:
    """Of use with parameter servers only."""


def set_config(**kwargs: Any) -> None:
    """Settings: filename, continuous_dump (dump may be called while recording), aggregate_stats; the profile_* switches change nothing."""
    _session.config.update(kwargs)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """The older form of `set_config`."""
    warnings.warn("profiler.profiler_set_config() is deprecated. Please use profiler.set_config() instead", stacklevel=2)
    set_config(**{f"profile_{mode}": True, "filename": filename})


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Starts ('run') or stops ('stop') recording, which also ends a pause. Errors: KeyError for other words."""
    _check_process(profile_process)
    _session.running = {"stop": False, "run": True}[state]
    _session.paused = False
    _session.switch()


def profiler_set_state(state: str = "stop") -> None:
    """The older form of `set_state`."""
    warnings.warn("profiler.profiler_set_state() is deprecated. Please use profiler.set_state() instead", stacklevel=2)
    set_state(state)


def pause(profile_process: str = "worker") -> None:
    """Records nothing until `resume`."""
    _check_process(profile_process)
    _session.paused = True
    _session.switch()


def resume(profile_process: str = "worker") -> None:
    """Goes on recording after `pause`."""
    _check_process(profile_process)
    _session.paused = False
    _session.switch()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes everything recorded to the file, for chrome://tracing and the like. finished: recording ends with it."""
    _check_process(profile_process)
    if finished is True:
        _session.running = False
        _session.switch()
    else:
        _session.refresh()
    _session.write()
    if finished is True:
        _session.events = []


def dump_profile() -> None:
    """The older form of `dump`."""
    warnings.warn("profiler.dump_profile() is deprecated. Please use profiler.dump() instead", stacklevel=2)
    dump(True)


def _table(durations: Iterable[tuple[str, str, float]], key: str, ascending: bool) -> dict[str, dict[str, dict[str, float]]]:
    """By domain and name: count, total, least, greatest and mean time in ms, ordered by `key`."""
    found: dict[str, dict[str, list[float]]] = {}
    for domain, name, microseconds in durations:
        found.setdefault(domain, {}).setdefault(name, []).append(microseconds / 1000)
    result: dict[str, dict[str, dict[str, float]]] = {}
    for domain, by_name in found.items():
        rows = {
            name: {"Count": len(times), "Total": sum(times), "Min": min(times), "Max": max(times), "Avg": sum(times) / len(times)}
            for name, times in by_name.items()
        }
        result[domain] = dict(sorted(rows.items(), key=lambda row: row[1][key], reverse=not ascending))
    return result


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:  # noqa: A002 - MXNet's name
    """Times by operator and range as text: a table or JSON. reset: start the sums anew. Errors: AssertionError for unknown words."""
    assert format in ("table", "json"), f"Invalid value provided for format: {format}. Support: 'table', 'json'"
    assert sort_by in _SORTING, f"Invalid value provided for sort_by: {sort_by}. Support: {', '.join(map(repr, _SORTING))}"
    assert ascending in (False, True), f"Invalid value provided for ascending: {ascending}. Support: False, True"
    assert reset in (False, True), f"Invalid value provided for reset: {reset}. Support: False, True"
    _session.refresh()
    times = _table(_session.durations, _SORTING[sort_by], ascending)
    if reset:
        _session.durations = []
    if format == "json":
        return json.dumps({"Time": times, "Memory": {}, "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    heads = ("Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")
    for domain, rows in sorted(times.items()):
        lines += [domain, "=" * 17, _row("Name", "Total Count", heads), _row("----", "-----------", ["-" * len(head) for head in heads])]
        lines += [_row(name, row["Count"], [f"{row[k]:.4f}" for k in ("Total", "Min", "Max", "Avg")]) for name, row in rows.items()]
        lines.append("")
    return "\n".join(lines) + "\n"


def _row(name: str, count: object, times: Iterable[str]) -> str:
    """A line of the table, in MXNet's columns."""
    return f"{name:<25}{count!s:>16}" + "".join(f" {value:>16}" for value in times)


# -- the script's own events ------------------------------------------------------------------------------------------------------
class Domain:
    """A name under which tasks, frames, counters and markers stand in the trace."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A Task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A Frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """A Counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A Marker of this domain."""
        return Marker(self, name)


class _Range:
    """A stretch of time between `start` and `stop`."""

    def __init__(self, domain: str, name: str) -> None:
        self.name = name
        self._domain = domain
        self._begin: float | None = None

    def start(self) -> None:
        """The range begins."""
        self._begin = _now()

    def stop(self) -> None:
        """The range ends and is recorded."""
        if self._begin is None:
            return
        begin, self._begin = self._begin, None
        if _session.active:
            _session.add("X", self.name, self._domain, dur=_now() - begin)
            _session.events[-1]["ts"] = begin
            _session.durations.append((self._domain, self.name, _session.events[-1]["dur"]))

    def __str__(self) -> str:
        return self.name


class Task(_Range):
    """A range of a domain that is one piece of work."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(domain.name, name)


class Frame(_Range):
    """A range of a domain that is repeated, such as an iteration."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(f"{domain.name},frame", name)


class Event(_Range):
    """A range without a domain."""

    def __init__(self, name: str) -> None:
        super().__init__("event", name)


class Counter:
    """A number over time: `counter += 1` and the like."""

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.name = name
        self._domain = domain.name
        self._value = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: int) -> None:
        """Sets the number."""
        self._value = int(value)
        _session.add("C", self.name, self._domain, args={self.name: self._value})

    def increment(self, delta: int = 1) -> None:
        """Adds to the number."""
        self.set_value(self._value + int(delta))

    def decrement(self, delta: int = 1) -> None:
        """Subtracts from the number."""
        self.set_value(self._value - int(delta))

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """A point in time: `mark('process')` ('global', 'thread', ...)."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.name = name
        self.domain = domain

    def mark(self, scope: str = "process") -> None:
        """Records the point."""
        _session.add("i", self.name, self.domain.name, s={"global": "g", "thread": "t"}.get(scope, "p"))
