# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# build.sh - copies of the sources, built for a kernel, outside the clone

# Not empty: the module counts which of its lines and branches are reached, and
# simdebug keeps the counts.
: "${LAB_COVERAGE:=}"

# Print the folder of the copy that is built for a kernel.
build_folder() # KERNEL
{
	echo "$PEP_LAB_CACHE/build/$1${LAB_COVERAGE:+-coverage}"
}

# Print the folder with the build system of a kernel (KDIR).
build_kdir() # KERNEL
{
	case $1 in
	stock) echo "/lib/modules/$(packages_kernel)/build" ;;
	next) next_kdir ;;
	*) kernel_build "$1" ;;
	esac
}

# List the files of the work tree that belong to the project, new ones too.
build_files()
{
	git -c safe.directory='*' -C "$TOP" rev-parse --git-dir > /dev/null 2>&1 ||
		bad "$TOP is not a clone of the repository, whose files git lists"
	git -c safe.directory='*' -C "$TOP" ls-files -co --exclude-standard |
		while read -r file; do
			[ ! -e "$TOP/$file" ] || echo "$file"
		done
}

# Update a copy of the sources: files that differ get a new time in the copy,
# whatever their time here, so that make builds them and no more, and files that
# were removed here are removed there.
build_copy() # FOLDER
{
	local list=$1/.files file

	mkdir -p "$1"
	build_files | LC_ALL=C sort > "$list.new"
	if [ -e "$list" ]; then
		LC_ALL=C comm -23 "$list" "$list.new" |
			(cd "$1" && xargs -r -d '\n' rm -f)
	fi
	# A file that cp has to replace behind one whose folder it has made is an
	# error of cp.
	while read -r file; do
		{ cmp -s "$TOP/$file" "$1/$file" &&
			{ [ ! -x "$TOP/$file" ] || [ -x "$1/$file" ]; }; } || {
			rm -f "$1/$file"
			echo "$file"
		}
	done < "$list.new" |
		(cd "$TOP" && xargs -r -d '\n' cp -P --preserve=mode --parents \
			-t "$1") || return 1
	mv "$list.new" "$list"
}

# Build the module of a folder, with the compiler that the kernel needs.
build_module() # KERNEL KDIR FOLDER
{
	case $1 in
	next) next_make "$(next_root)" "$3" ;;
	*)
		make -C "$3" -j"$(nproc)" KDIR="$2" "ARCH=$(kernel_arch "$1")" \
			${LAB_COVERAGE:+GCOV_PROFILE=y} modules
		;;
	esac
}

# Build the module for a kernel, and targets of the Makefile; prints the folder.
build_tree() # KERNEL TARGET...
{
	local kernel=$1 dir kdir log

	dir=$(build_folder "$kernel")
	kdir=$(build_kdir "$kernel")
	shift
	say "building the module and $* for $kdir"
	build_copy "$dir"
	log=$dir/build.log
	build_module "$kernel" "$kdir" "$dir" > "$log" 2>&1 ||
		die_log "$log" "building the module"
	make -C "$dir" "$@" >> "$log" 2>&1 || die_log "$log" "building $*"
	echo "$dir"
}
