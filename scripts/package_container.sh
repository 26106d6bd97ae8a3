#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# package_container.sh [FOLDER]: build the image of packaging/Containerfile from what git tracks, by
# buildah on a Debian 12 made by mmdebstrap, so that no registry and no daemon is needed; in it run
# --doctor, a product on four ranks that is verified, and an example built against what is
# installed.  Images lie in FOLDER (build/container).  Root's rights; 15 minutes on 2 cores.
set -eu -o pipefail
cd "$(dirname "$0")/.."
for tool in buildah mmdebstrap; do
    command -v "$tool" >/dev/null ||
        { echo "no $tool: install it (SPMM_SETUP_CONTAINER=1)"; exit 77; }
done
folder=$(realpath -m "${1:-build/container}")
mkdir -p "$folder/context"
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
images=(buildah --root "$folder/images" --runroot "$folder/run")
build() { # NAME CONTEXT FILE [OPTION...]
    "${images[@]}" bud --layers -t "localhost/$1" -f "$3" "${@:4}" "$2"
}

if [ ! -f "$folder/debian.tar" ]; then
    mmdebstrap --variant=minbase bookworm "$folder/part.tar" http://deb.debian.org/debian
    mv "$folder/part.tar" "$folder/debian.tar"
fi
printf 'FROM scratch\nADD debian.tar /\n' >"$folder/Base"
printf '*\n!debian.tar\n' >"$folder/.dockerignore"
build debian:12 "$folder" "$folder/Base"

rm -rf "$folder/context"
mkdir "$folder/context"
git ls-files -z | tar c --null -T - | tar x -C "$folder/context"
build spmm_dist "$folder/context" packaging/Containerfile --build-arg BASE=localhost/debian:12

box=$("${images[@]}" from localhost/spmm_dist)
trap '"${images[@]}" rm "$box" >/dev/null' EXIT
"${images[@]}" run "$box" -- spmm_dist --doctor
"${images[@]}" run "$box" -- mpirun -n 4 spmm_dist --generate stencil7:nx=20,ny=20,nz=20 --verify
# shellcheck disable=SC2016
"${images[@]}" run "$box" -- sh -c 'mpicc -std=c11 \
    /opt/spmm_dist/share/doc/spmm_dist/examples/01_own_csr_rows.c -o /tmp/own \
    $(pkg-config --cflags --libs spmm_dist) -lm -Wl,-rpath,/opt/spmm_dist/lib &&
    mpirun -n 2 /tmp/own'
echo "image of $("${images[@]}" images --format '{{.Size}}' localhost/spmm_dist), $("${images[@]}" \
    images --format '{{.ID}}' localhost/spmm_dist)"
