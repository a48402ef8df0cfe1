# SPDX-License-Identifier: Apache-2.0
"""Objects that a rank of a fake process group gives to others: files in a folder, as the ranks are processes of one host.

Only what one rank gives to all is exchanged so, and only if that rank runs or has run: a few ranks run at a time, and what
all give each other would wait for those that have not begun."""
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
import time

_PATIENCE = 60.0  # seconds, for a rank that runs
_BEGUN = 2.0      # for one that may be about to begin


class Mail:
    """Made by the process that forks the ranks; each says then who it is."""

    def __init__(self):
        self.folder, self.owner = tempfile.mkdtemp(prefix="traincheck-plan-"), os.getpid()
        self.rank, self.counts = None, {}

    def enter(self, rank):
        self.rank = rank
        self._write(f"rank{rank}", os.getpid())

    def close(self):
        if os.getpid() == self.owner:
            shutil.rmtree(self.folder, True)

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _write(self, name, value):
        part = self._path(f"{name}.part{os.getpid()}")
        with open(part, "wb") as file:
            pickle.dump(value, file)
        os.replace(part, self._path(name))

    def _read(self, name):
        try:
            with open(self._path(name), "rb") as file:
                return True, pickle.load(file)
        except FileNotFoundError:
            return False, None

    def _runs(self, rank):
        begun, pid = self._read(f"rank{rank}")
        if not begun:
            return None
        try:
            os.kill(pid, 0)
        except OSError:  # it has ended; its number may be another user's by now
            return False
        return True

    def _wait(self, name, source):
        began = time.monotonic()
        while True:
            runs = self._runs(source)
            is_answered, answer = self._read(name)
            waited = time.monotonic() - began
            if is_answered or runs is False or waited > (_PATIENCE if runs else _BEGUN):
                return answer if is_answered else (False, None)
            time.sleep(0.01)

    def exchange(self, kind, value, source, group):
        """(is it there, the object that `source`, a global rank, gives in this call): the n-th of this kind in a group."""
        ranks = tuple(sys.modules["torch.distributed"].get_process_group_ranks(group)) if group else ()
        number = self.counts[kind, ranks] = self.counts.get((kind, ranks), 0) + 1
        name = f"{kind}-{hashlib.sha1(repr(ranks).encode(), usedforsecurity=False).hexdigest()}-{source}-{number}"
        if source != self.rank:
            return self._wait(name, source)
        try:
            self._write(name, (True, value))
        except Exception:  # pylint: disable=broad-except  # whatever the script's own __reduce__ raises
            self._write(name, (False, None))
            return False, None
        return True, value
