# SPDX-License-Identifier: Apache-2.0
# The tools and the Python package for a job's image, or for a checker beside it:
#
#   docker build -t traincheck .
#   docker run --rm -v "$PWD:/work" traincheck traincheck-check trace -i @all
FROM python:3.12-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
        gcc libc6-dev make cmake pkg-config libcjson-dev libzstd-dev libuv1-dev libxxhash-dev libyaml-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip wheel --no-cache-dir --no-deps -w /wheel /source

FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends \
        libcjson1 libzstd1 libuv1 libxxhash0 libyaml-0-2 \
    && rm -rf /var/lib/apt/lists/* && useradd --create-home traincheck
COPY --from=build /wheel /wheel
RUN pip install --no-cache-dir /wheel/*.whl && rm -r /wheel
USER traincheck
WORKDIR /work
CMD ["traincheck-check", "--help"]
