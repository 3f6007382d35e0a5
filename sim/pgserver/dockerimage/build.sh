#!/bin/sh
# Makes a Docker image out of the PostgreSQL programs of this machine, for trying the docker
# way where no registry can be reached. It behaves like the official image as far as this
# package relies on it: docker-entrypoint.sh prepares a cluster from POSTGRES_* variables
# while listening on no TCP address, then becomes the server.
#
#   dockerimage/build.sh TAG [BIN]     BIN: folder with initdb and postgres (Linux, glibc)
set -eu

tag=$1
bin=${2:-$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)}
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# with PATH...: copies files, and the shared libraries they need, to their own places.
with() {
	for file in "$@"; do
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
		ldd "$file" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
			mkdir -p "$root$(dirname "$library")"
			cp -Ln "$library" "$root$library"
		done
	done
}

with "$bin/initdb" "$bin/postgres" "$bin/pg_ctl" "$bin/psql"
with "$("$bin/pg_config" --pkglibdir)"/*.so
for folder in "$("$bin/pg_config" --sharedir)" /usr/share/zoneinfo; do
	mkdir -p "$root$folder"
	cp -rL "$folder/." "$root$folder"
done

for tool in cat chown id mkdir setpriv sh sleep; do
	path=$(command -v "$tool")
	with "$path"
	[ -e "$root/bin/$tool" ] || { mkdir -p "$root/bin"; cp -L "$path" "$root/bin/$tool"; }
done

mkdir -p "$root/etc" "$root/tmp" "$root/usr/local/bin" "$root/var/lib/postgresql/data"
chmod 1777 "$root/tmp"
cat >"$root/etc/passwd" <<-'END'
	root:x:0:0::/:/bin/sh
	postgres:x:70:70::/var/lib/postgresql:/bin/sh
END
printf '%s\n' root:x:0: postgres:x:70: >"$root/etc/group"
cp "$here/docker-entrypoint.sh" "$root/usr/local/bin/"
chmod 755 "$root/usr/local/bin/docker-entrypoint.sh"

tar -C "$root" -c . | docker import \
	--change "ENV PATH=/usr/local/bin:$bin:/bin" \
	--change 'ENV PGDATA=/var/lib/postgresql/data' \
	--change 'VOLUME /var/lib/postgresql/data' \
	--change 'EXPOSE 5432' \
	--change 'ENTRYPOINT ["docker-entrypoint.sh"]' \
	--change 'CMD ["postgres"]' \
	- "$tag"
