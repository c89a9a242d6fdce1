#!/bin/bash
# Prints the list of plugins of a version of containerd, as config/schema/plugins
# has them:   lists/make.sh v2.4.2 > ../../config/schema/plugins/plugins-2.4.txt
set -euo pipefail
version=$1
here=$(cd "$(dirname "$0")" && pwd)
export CGO_ENABLED=0 GOFLAGS=
module=github.com/containerd/containerd registry=registry1.go
if [[ $version != v1.* ]]; then module+=/v2 registry=registry2.go; fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for file in shapes.go "$registry"; do
  grep -v '^//go:build ignore' "$here/$file" > "$dir/$file"
done
cd "$dir"
go mod init lists 2>/dev/null
go get "$module@$version" >&2
go mod tidy >&2
go run .
