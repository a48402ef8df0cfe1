#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The laws of the source tree that a compiler does not check.

usage: law.py [ROOT]     prints one line per breach, exits with 1 if there is any

* layers: who may include whose headers (USES)
* rooms: the same of the rooms of the agent (ROOMS); nobody else includes its headers
* doors: each third-party header is included in one place only (DOORS)
* names: what a file declares as extern counts as an include of the file that defines it (MAY_NAME); a .c file of src/
  declares nothing that a header could, but a list of what a room has: `#define X(name) extern ... name;`
* circles: no unit (a .c file with its header) includes another that, by whatever way, includes it
* homes: a header declares what its own .c file defines, so that includes tell calls, and circles of them (OWN_HEADERS)
* no file includes banned.h: the build does
* no two units of src/ have the same name, whatever their folders
* src/ neither prints nor exits; a tool's main file is short, so is every function
* a file of src/ begins with its name and what it is for; a .c file of more than MAX_PLAIN lines, or its header, also with
  how it goes about that: a second paragraph
"""

import pathlib
import re
import sys

CORE = ["base", "trace", "replay", "invariant", "relation"]
USES = {folder: CORE[:i] for i, folder in enumerate(CORE)}
USES |= {
    "import": ["base", "trace"],
    # The Python tool names arguments by the signatures of torch, wherever it speaks of them.
    "python_tool": CORE + ["import/torch_apis.h"],
    "fact": CORE,
    "compare": ["base", "trace", "replay"],
    "infer": CORE + ["fact", "compare"],
    "check": CORE,
    "finding": CORE + ["check", "compare"],
    "plan": ["base", "trace"],
    "report": CORE + ["compare", "infer", "check", "finding", "plan"],
    "online": ["base", "trace", "check", "finding", "report"],
    "cli": ["base"],
    "collect": ["base", "trace", "relation/interest.h"],
    "tools": CORE + ["compare", "infer", "check", "finding", "plan", "report", "online", "cli", "collect", "import"],
}
# The rooms of the agent: each may include those before it. Beside them stands what all of them share, and needs none.
AGENT = "collect/agent/"
ROOMS = ["torch", "look", "say", "hook"]
# The layer that a public header belongs to.
PUBLIC = {
    "error": "base", "export": "base", "version": "base", "value": "trace", "record": "trace", "trace": "trace",
    "remote": "trace", "event": "replay", "invariant": "invariant", "relation": "relation", "infer": "infer", "sets": "infer",
    "check": "check", "compare": "compare", "plan": "plan", "report": "report", "online": "online",
}
# Tables that a lower room has of what rooms above it define, so that nobody else names these.
MAY_NAME = {
    "src/relation/registry.c": ["fact", "python_tool"],
    "src/relation/relation.h": ["python_tool"],
    "src/trace/foreign.h": ["import"],
}
# Folders in which each header declares what one .c file defines.
OWN_HEADERS = ["cli", "fact"]
DOORS = {
    r"cjson/|cJSON": ["src/base/json.c"],
    r"zstd|zdict": ["src/trace/zio.c"],
    r"uv\.h|uv/": ["src/base/pool.c", "src/online/", "src/collect/"],
    r"xxhash|xxh3": ["src/base/hash.c"],
    r"yaml\.h": ["src/collect/config.c"],
    r"cmocka": ["tests/"],
    r"Python\.h|marshal\.h|structmember|frameobject|internal/pycore|cpython/": ["src/collect/"],
}
SYSTEM = re.compile(
    r"(assert|complex|ctype|errno|fenv|float|inttypes|limits|locale|math|setjmp|signal|stdalign"
    r"|stdarg|stdatomic|threads|uchar|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|time|wchar"
    r"|cpuid|immintrin|dirent|dlfcn|fcntl|fnmatch|getopt|glob|libgen|link|malloc|poll|pthread|pwd|sched|semaphore|spawn"
    r"|syslog|termios|ucontext|unistd|sys/\w+|linux/\w+|sanitizer/\w+)\.h$")
PRINTS = re.compile(r"\b(?:stdout|stderr)\b|\b(?:printf|puts|putchar|perror|exit|_exit|abort)\s*\(")
# app.c is the voice of the tools, arena.c ends the process when memory is out, collect runs the user's job.
MAY_PRINT = ("src/cli/app.c", "src/base/arena.c", "src/collect/")
MAX_MAIN, MAX_FUNCTION, MAX_PLAIN = 40, 60, 100

EXTERN = re.compile(r"^extern\s+([^;(]+);", re.M)
LISTS_EXTERN = re.compile(r"^#define X\(\w+\) extern ", re.M)
# "const struct tc_source tc_source_facts = {", "FORM(tc_fact_count, ..."
DEFINITION = re.compile(r"^(?!static|extern|typedef|return)(?:[a-z_][\w *]*[ *]|[A-Z_]+\()(tc_\w+)(?:\[[^\]\n]*\])*\s*(?:=|;|,)", re.M)
PROTOTYPE = re.compile(r"^(?!static|typedef|return)[a-z_][\w *]*[ *](tc_\w+)\([^{};]*\);", re.M)
FUNCTION = re.compile(r"^(?!static|typedef|return)[a-z_][\w *]*[ *](tc_\w+)\([^{};]*\)\n\{", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def without_comments(text):
    """Comments, strings and character constants are blanked, lines stay."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def layer_of(path):
    """src/trace/zio.c: trace; include/traincheck/infer.h: infer; tools/x.c: tools."""
    parts = path.split("/")
    if parts[0] == "include":
        return PUBLIC.get(pathlib.PurePath(path).stem)
    return parts[0] if parts[0] == "tools" else parts[1]


def check_layer(path, kind, header):
    layer = layer_of(path)
    if layer not in USES:
        return f"'{layer}' is no layer: add it to USES in tests/law/law.py"
    folder, _, name = header.partition("/")
    if kind == "<" and folder != "traincheck":
        return None
    target = PUBLIC.get(name[:-2], "?") if folder == "traincheck" else folder
    if not name or target == layer or target in USES[layer] or header in USES[layer]:
        return None
    if layer == "collect" and folder == "traincheck" and target in ("base", "trace"):
        return None
    return f"{layer} must not use {header}"


def room_of(path):
    """collect/agent/say/line.h: 3, behind torch and look; collect/agent/agent.h: 0; None: an unknown room."""
    folder, _, _name = path.removeprefix(AGENT).rpartition("/")
    return 0 if not folder else ROOMS.index(folder) + 1 if folder in ROOMS else None


def check_room(path, kind, header):
    path = path.removeprefix("src/")
    if kind == "<" or not header.startswith(AGENT):
        return None
    if not path.startswith(AGENT):
        return f"{header} is the agent's own"
    if room_of(path) is not None and (room_of(header) is None or room_of(header) > room_of(path)):
        return f"{path} must not use {header}: the rooms of the agent are {', '.join(ROOMS)}"
    return None


def check_place(path, _):
    if path.startswith("src/" + AGENT) and room_of(path.removeprefix("src/")) is None:
        yield 1, "it is in no room of the agent: see ROOMS in tests/law/law.py"


def check_door(path, kind, header):
    for pattern, doors in DOORS.items():
        if re.match(pattern, header):
            allowed = any(path == door or door.endswith("/") and path.startswith(door) for door in doors)
            return None if allowed else f"{header} has its door in {', '.join(doors)}"
    if kind == "<" and not header.startswith("traincheck/") and not SYSTEM.match(header):
        return f"{header} is no known system header: give it a door in tests/law/law.py"
    return None


def check_includes(path, lines):
    includes = [(i, m[1], m[2]) for i, line in enumerate(lines, 1) if (m := INCLUDE.match(line))]
    for i, kind, header in includes:
        for check in (check_layer, check_room, check_door):
            if said := check(path, kind, header):
                yield i, said
        if header == "base/banned.h":
            yield i, "the build includes base/banned.h"


def check_prints(path, code):
    if path.startswith("src/") and not path.startswith(MAY_PRINT):
        for i, line in enumerate(code, 1):
            if m := PRINTS.search(line):
                yield i, f"src/ neither prints nor exits: {m[0].rstrip('(')}"


def check_lengths(path, code):
    if re.fullmatch(r"tools/traincheck-\w+\.c", path) and len(code) > MAX_MAIN:
        yield 1, f"{len(code)} lines, a tool's main file has at most {MAX_MAIN}"
    start = None
    for i, line in enumerate(code, 1):
        if line == "{":
            start = i
        elif line == "}" and start:
            if i - start - 1 > MAX_FUNCTION:
                yield start, f"{i - start - 1} lines, a function has at most {MAX_FUNCTION}"
            start = None


def check_head(path, text):
    name = re.escape(pathlib.PurePath(path).name)
    if not path.startswith("src/") and not re.match(r"tools/(?!traincheck-)", path):
        return
    if not re.match(rf"(/\* SPDX[^\n]*\n)?/\*\n \* {name} - \S", text):
        yield 1, f"it does not begin with '{pathlib.PurePath(path).name} - ' and what it is for"


def head_of(text):
    """The lines of the first comment that is more than a licence."""
    found = re.match(r"(?:/\* SPDX[^\n]*\n)?/\*\n(.*?) \*/\n", text, re.S)
    return found[1].split("\n")[:-1] if found else []


def check_explained(root):
    """Paths of long .c files of which neither the file nor its header says how it works."""
    for file in sorted((root / "src").rglob("*.c")):
        text, header = file.read_text(), file.with_suffix(".h")
        heads = [head_of(text), head_of(header.read_text()) if header.exists() else []]
        if text.count("\n") > MAX_PLAIN and not any(" *" in head for head in heads):
            yield file.relative_to(root).as_posix()


def definitions(root):
    """{name of a global variable: the .c file that defines it}"""
    found = {}
    for file in sorted((root / "src").rglob("*.c")):
        for match in DEFINITION.finditer(without_comments(file.read_text())):
            found.setdefault(match[1], file.relative_to(root).as_posix())
    return found


def functions(root):
    """{name of a function: the .c file that defines it}"""
    found = {}
    for file in sorted((root / "src").rglob("*.c")):
        for name in FUNCTION.findall(without_comments(file.read_text())):
            found.setdefault(name, file.relative_to(root).as_posix())
    return found


def names_in(text):
    """The variables that a file declares as extern: one by one, and in a list."""
    one_by_one = [re.findall(r"\w+", item.partition("[")[0])[-1] for m in EXTERN.finditer(text) for item in m[1].split(",")]
    return one_by_one, re.findall(r"\bX\((tc_\w+)\)", text) if LISTS_EXTERN.search(text) else []


def check_declared(root):
    """(path, what is wrong with a declaration in it)"""
    defined = definitions(root)
    for file in sorted((root / "src").rglob("*.[ch]")):
        path, text = file.relative_to(root).as_posix(), without_comments(file.read_text())
        one_by_one, listed = names_in(text)
        for name in one_by_one + listed:
            at = defined.get(name)
            layer = layer_of(path)
            if at and layer_of(at) not in [layer, *USES.get(layer, []), *MAY_NAME.get(path, [])]:
                yield path, f"{layer} must not name {name} of {at}"
        if path.endswith(".c"):
            for name in [n for n in one_by_one if n in defined] + PROTOTYPE.findall(text):
                yield path, f"{name} is declared here: declare it in a header"


def check_homes(root):
    """(path of a header, what it declares of another unit)"""
    defined = definitions(root) | functions(root)
    for file in sorted(file for folder in OWN_HEADERS for file in (root / "src" / folder).rglob("*.h")):
        path, text = file.relative_to(root).as_posix(), without_comments(file.read_text())
        for name in PROTOTYPE.findall(text) + names_in(text)[0]:
            if defined.get(name, path[:-2] + ".c") != path[:-2] + ".c":
                yield path, f"{name} is of {defined[name]}: declare it in its header"


def includes_of(root):
    """{unit: units that it includes, or whose variables its .c file declares}, of src/."""
    found, defined = {}, definitions(root)
    for file in sorted((root / "src").rglob("*.[ch]")):
        unit = file.relative_to(root / "src").with_suffix("").as_posix()
        headers = [m[2] for m in map(INCLUDE.match, file.read_text().split("\n")) if m and m[1] == '"']
        found.setdefault(unit, set()).update(h[:-2] for h in headers if (root / "src" / h).exists())
        if file.suffix == ".c":
            names = sum(names_in(without_comments(file.read_text())), [])
            found[unit].update(defined[n].removeprefix("src/").removesuffix(".c") for n in names if n in defined)
        found[unit].discard(unit)
    return found


def reached_from(unit, includes):
    reached, to_do = set(), [unit]
    while to_do:
        new = includes.get(to_do.pop(), set()) - reached
        reached |= new
        to_do += new
    return reached


def check_circles(root):
    """(unit, another that it includes and that includes it)"""
    includes = includes_of(root)
    reached = {unit: reached_from(unit, includes) for unit in includes}
    for unit in includes:
        for other in sorted(includes[unit]):
            if unit in reached.get(other, ()):
                yield unit, other


def check_names(root):
    """(unit, another of the same name in a folder before its own)"""
    first = {}
    for unit in sorted({file.relative_to(root / "src").with_suffix("") for file in (root / "src").rglob("*.[ch]")}):
        if first.setdefault(unit.name, unit) != unit:
            yield unit.as_posix(), first[unit.name].as_posix()


def check_tags(root):
    """(path, line, tag, file that defines it first): a struct, enum or union of the project's prefix is one thing everywhere."""
    first = {}
    for folder in ("include", "src", "tools"):
        for file in sorted(root.glob(f"{folder}/**/*.[ch]")):
            path = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text().split("\n"), 1):
                tag = re.match(r"(?:struct|enum|union) (tc_\w+) \{", line)
                if tag and first.setdefault(tag[1], path) != path:
                    yield path, number, tag[1], first[tag[1]]


def breaches(root):
    """Yield (path, line, text) for all that the tree under root breaks."""
    root = pathlib.Path(root)
    for folder in ("include", "src", "tools"):
        for file in sorted(root.glob(f"{folder}/**/*.[ch]")):
            path = file.relative_to(root).as_posix()
            text = file.read_text()
            code = [line.rstrip() for line in without_comments(text).split("\n")]
            for check, lines in ((check_place, None), (check_includes, text.split("\n")), (check_prints, code), (check_lengths, code),
                                 (check_head, text)):
                for line, said in check(path, lines):
                    yield path, line, said
    for path in check_explained(root):
        yield path, 1, f"it has more than {MAX_PLAIN} lines, and no head says how it works"
    for path, said in check_declared(root):
        yield path, 1, said
    for path, said in check_homes(root):
        yield path, 1, said
    for unit, other in check_circles(root):
        yield f"src/{unit}", 1, f"it includes {other}, which includes it"
    for unit, other in check_names(root):
        yield f"src/{unit}", 1, f"it has the name of src/{other}"
    for path, line, tag, other in check_tags(root):
        yield path, line, f"{tag} is defined in {other}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = list(breaches(root))
    for path, line, said in found:
        print(f"{path}:{line}: {said}")
    print(f"{len(found)} breaches" if found else "no breach")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
