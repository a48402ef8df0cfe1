# SPDX-License-Identifier: Apache-2.0
"""Import modules once, so that their bytecode is kept: usage: keep_bytecode.py MODULE...

pip compiles nothing here (setup.sh), and neither a process with -B nor one below PYTHONDONTWRITEBYTECODE keeps what it has compiled. To
import torch takes three times as long then."""
import importlib
import sys

sys.dont_write_bytecode = False
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception:  # not every Python has each package, and what cannot be imported is for the tests to say
        pass
