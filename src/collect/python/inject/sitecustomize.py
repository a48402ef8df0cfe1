# SPDX-License-Identifier: Apache-2.0
"""Loads the tracing agent in every Python process below the collector, then the user's own sitecustomize."""
import os
import sys


def _version():
    """As in "3.11"; with more to it where the agent of that version cannot be loaded."""
    kind = " free-threaded" if "t" in getattr(sys, "abiflags", "") else ""
    return "%d.%d" % sys.version_info[:2] + kind


def _load_agent():
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(os.path.dirname(here), "traincheck_agent.cpython-%s.so" % _version().replace(".", ""))
    settings = os.environ.get("TRAINCHECK_COLLECT", "").split("\n")
    if not settings[0]:
        return
    if not os.path.exists(path):
        if "quiet=1" not in settings:
            sys.stderr.write("traincheck-collect: %s is not traced: no agent for Python %s\n"
                             % (sys.executable, _version()))
        return
    import importlib.machinery
    import importlib.util
    loader = importlib.machinery.ExtensionFileLoader("_traincheck_agent", path)
    spec = importlib.util.spec_from_file_location("_traincheck_agent", path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    policy = sys.modules.get("traincheck_agent.policy")
    if policy is not None:  # as in a second interpreter of the process, up to Python 3.11
        policy.start()


def _chain():
    """Import the sitecustomize that Python would have found without us."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    ours = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", ours)


try:
    if "_traincheck_agent" not in sys.modules:
        _load_agent()
except Exception as error:
    if "subinterpreters" not in str(error):  # what a second one is told from Python 3.12 on
        sys.stderr.write("traincheck-collect: this process is not traced: %s\n" % error)
_chain()
