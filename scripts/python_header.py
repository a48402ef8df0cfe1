"""Print the folder of this interpreter's Python.h; exit with 1 if it has none, with 2 if no agent can be built for it."""

import os
import sys
import sysconfig


def pinned():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "versions")
    with open(path) as lines:
        return dict(line.strip().split("=", 1) for line in lines if "=" in line)


def as_numbers(version):
    return tuple(map(int, version.split(".")))


oldest, newest = (pinned()[end + "_PYTHON"] for end in ("OLDEST", "NEWEST"))
is_free_threaded = "t" in getattr(sys, "abiflags", "")
if sys.implementation.name != "cpython" or is_free_threaded or \
        not as_numbers(oldest) <= sys.version_info[:2] <= as_numbers(newest):
    print("%s: agents are built for CPython %s to %s, not free-threaded" % (sys.executable, oldest, newest))
    sys.exit(2)
folder = sysconfig.get_path("include")
print(folder)
sys.exit(not os.path.exists(os.path.join(folder, "Python.h")))
