#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Upload a trace while it is written: upload.py trace s3://bucket/run

What traincheck-collect has written goes on to the bucket, piece by piece, until SIGTERM ends the upload. A bucket shows an
object when it is whole: then. Kubernetes sends SIGTERM to a sidecar when the job's own container has ended.
"""
import pathlib
import signal
import sys
import threading

import fsspec

PIECE = 8 << 20  # bytes that are uploaded at once
WAIT_S = 5  # between looks at the folder


def move(source, target):
    while data := source.read(PIECE):
        target.write(data)


def main(folder, url):
    end, files = threading.Event(), {}
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    filesystem, inner = fsspec.core.url_to_fs(url)
    filesystem.makedirs(inner, exist_ok=True)
    while True:
        is_last = end.wait(WAIT_S)
        for path in sorted(pathlib.Path(folder).glob("trace_*")):
            if path.name not in files:
                files[path.name] = path.open("rb"), filesystem.open(f"{inner}/{path.name}", "wb", block_size=PIECE)
            move(*files[path.name])
        if is_last:
            break
    for _, target in files.values():
        target.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
