"""What the Trace Event Format asks of a file, as far as it is used here: JSON object form, phases M, X and i.

The format: "Trace Event Format", Google, sections "JSON Object Format", "Complete Events", "Instant Events" and
"Metadata Events". Perfetto's importer drops what breaks these rules, so a file passes only without any such event.
"""

import math

TOP = {"traceEvents", "displayTimeUnit", "otherData", "metadata"}
COMMON = {"name", "ph", "pid", "tid"}
PHASES = {  # keys beside the common ones: required, allowed
    "M": ({"args"}, set()),
    "X": ({"ts", "dur"}, {"cat", "args", "cname"}),
    "i": ({"ts", "s"}, {"cat", "args"}),
}
METADATA = {"process_name": ("name", str), "thread_name": ("name", str), "process_labels": ("labels", str),
            "process_sort_index": ("sort_index", int), "thread_sort_index": ("sort_index", int)}


class Wrong(Exception):
    pass


def need(condition, event, what):
    if not condition:
        raise Wrong(f"{what}: {event}")


def is_time(value):
    """Microseconds."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def check_event(e):
    need(isinstance(e, dict) and COMMON <= set(e), e, "a common key is missing")
    need(e["ph"] in PHASES, e, "an unknown phase")
    required, allowed = PHASES[e["ph"]]
    need(required <= set(e), e, "a key of its phase is missing")
    need(set(e) <= COMMON | required | allowed, e, "a key that its phase does not have")
    need(type(e["pid"]) is int and type(e["tid"]) is int and isinstance(e["name"], str), e, "a wrong type")
    need(all(is_time(e[k]) for k in ("ts", "dur") if k in e), e, "no time")
    need(isinstance(e.get("args", {}), dict), e, "args is no object")
    if e["ph"] == "i":
        need(e["s"] in ("g", "p", "t"), e, "an unknown scope")
    if e["ph"] == "M":
        key, kind = METADATA.get(e["name"], (None, None))
        need(key and type(e["args"].get(key)) is kind, e, "metadata that nobody reads")


def check_nesting(events):
    """Slices of one row hold each other or lie apart."""
    rows = {}
    for e in events:
        rows.setdefault((e["pid"], e["tid"]), []).append((round(e["ts"] * 1000), -round(e["dur"] * 1000), e))
    for row in rows.values():
        ends = []
        for start, minus, e in sorted(row, key=lambda x: x[:2]):
            while ends and ends[-1] <= start:
                ends.pop()
            need(not ends or start - minus <= ends[-1], e, "it overlaps another slice of its row")
            ends.append(start - minus)


def check(trace):
    """Raises Wrong, with the event."""
    need(isinstance(trace, dict) and set(trace) <= TOP, list(trace), "a key that the format does not name")
    need(trace.get("displayTimeUnit", "ms") in ("ms", "ns"), trace.get("displayTimeUnit"), "an unknown unit")
    need(isinstance(trace.get("traceEvents"), list), None, "no list of events")
    for e in trace["traceEvents"]:
        check_event(e)
    check_nesting(e for e in trace["traceEvents"] if e["ph"] == "X")
