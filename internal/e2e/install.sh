#!/bin/sh
# Installs the pinned programs that the end-to-end tests drive, each folder's beside its lock file,
# unless exactly those are there already. Scripts of packages never run: nothing here needs one.
set -eu
cd "$(dirname "$0")"

install() (
	cd "$1"
	# npm writes its own record of node_modules in another form, so the lock file that was
	# installed is kept as a copy: a changed pin is then a different file.
	stamp=node_modules/.installed-lock.json
	if cmp -s package-lock.json "$stamp"; then
		exit 0
	fi
	# A registry that answers badly once is common, one that does so three times is down. npm's
	# own Node may be older than the one that the programs will run on, hence no engine warnings.
	for attempt in 1 2 3; do
		if npm ci --ignore-scripts --no-audit --no-fund --loglevel error; then
			cp package-lock.json "$stamp"
			exit 0
		fi
		echo "install.sh: npm ci in $1 failed (attempt $attempt of 3)" >&2
	done
	echo "install.sh: the programs of $1 could not be installed; is npm there, and its registry reachable?" >&2
	exit 1
)

for folder in harness clients/npm conformance/suite; do
	install "$folder"
done
