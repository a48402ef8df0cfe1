# SPDX-License-Identifier: Apache-2.0
"""Print the bill of materials of a release as CycloneDX 1.5. usage: sbom.py VERSION"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LICENSES = {"zstd": "BSD-3-Clause", "libuv": "MIT", "cJSON": "MIT", "libyaml": "MIT", "xxHash": "BSD-2-Clause"}


def component(name, version, path, digest):
    return {"type": "library", "name": name, "version": version, "bom-ref": f"{name}@{version}",
            "licenses": [{"license": {"id": LICENSES[name]}}], "hashes": [{"alg": "SHA-256", "content": digest}],
            "purl": f"pkg:generic/{name}@{version}?checksum=sha256:{digest}",
            "externalReferences": [{"type": "distribution", "url": f"http://deb.debian.org/debian/pool/main/{path}"}]}


def main():
    listed = subprocess.run([HERE / "static_libraries.sh", "--list"], check=True, capture_output=True, text=True).stdout
    libraries = [component(*line.split()) for line in listed.splitlines()]
    own = {"type": "application", "name": "traincheck", "version": sys.argv[1], "bom-ref": "traincheck",
           "licenses": [{"license": {"id": "Apache-2.0"}}], "purl": f"pkg:pypi/libtraincheck@{sys.argv[1]}"}
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": own},
        "components": libraries,
        "dependencies": [{"ref": "traincheck", "dependsOn": [library["bom-ref"] for library in libraries]}],
    }, indent=2))


main()
