# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# site.sh - lab site: the documents as one site of HTML, with search

# Build the site from a folder of documents and check its links. A warning of
# Sphinx is an error.
site_build() # DOCUMENTATION FOLDER
{
	rm -rf "$2" "$2.doctrees"
	/usr/bin/python3 -B -m sphinx -q -n -W --keep-going -j auto -b html \
		-d "$2.doctrees" "$1" "$2" 2>&1 &&
		"$TOP/scripts/check-site.py" "$2"
}

# Check the folder for the site: outside the sources, and absent, empty or with
# an older site.
site_folder() # FOLDER
{
	case $(realpath -m -- "$1")/ in
	"$TOP"/*) bad "the site does not go into the sources: $1" ;;
	esac
	[ ! -e "$1" ] || [ -d "$1" ] || bad "not a folder: $1"
	[ -e "$1/.buildinfo" ] || [ -z "$(ls -A -- "$1" 2> /dev/null)" ] ||
		bad "not empty, and no site made by this command: $1"
}

lab_site() # [FOLDER]
{
	local out=${1:-$PEP_LAB_CACHE/site} made=$PEP_LAB_CACHE/build/site

	[ $# -le 1 ] || bad "site takes one folder"
	[[ $out != -* ]] || bad "no such option of site: $out"
	site_folder "$out"
	packages_need site
	lock site
	mkdir -p "$PEP_LAB_CACHE/build"
	build_files > "$made.files"
	say "building the site"
	(cd "$TOP" && scripts/check-links.py "$made.files") ||
		die "references of the documents are wrong"
	site_build "$TOP/Documentation" "$made" ||
		die "the documents have mistakes"
	mkdir -p "$out"
	find "$out" -mindepth 1 -delete
	cp -r "$made/." "$out"
	echo "$out/index.html"
}
