#!/bin/sh
# Tries the docker way with an image made of this machine's PostgreSQL, on a machine with a
# Docker daemon but no registry: the reaper's image cannot be had there either.
set -eu

image=ordeal-pgserver-try:local
cd "$(dirname "$0")"
./build.sh "$image"
trap 'docker image rm "$image"' EXIT
ORDEAL_POSTGRES=docker ORDEAL_POSTGRES_IMAGE=$image TESTCONTAINERS_RYUK_DISABLED=true \
	go test -count=1 -tags dockerimage .
