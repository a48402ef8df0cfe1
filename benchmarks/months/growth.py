"""What both measurements of growth share: the command line, and the memory of a process."""
import argparse
import json
import pathlib
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def rss_kb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def main(doc, run, counted, n):
    """run(options, folder) returns the rows that --json FILE gets; --COUNTED says up to how many, n where it is not given."""
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0], usage=doc.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument(f"--{counted}", type=int, default=n)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rows = run(options, pathlib.Path(scratch))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
