#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# First program of a guest of User Mode Linux: makes a writable root of the
# host's files, without writing to these, and runs a program in it.
#
# The file that the kernel's command line gives as lab_parameters sets
# lab_program, its argument lab_command, its working directory lab_cwd,
# lab_folder, a writable folder of the host or nothing, and lab_terminal when
# the program is interactive.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

exec < /dev/tty0 > /dev/tty0 2>&1
# shellcheck source=/dev/null # written by sim.sh
. "${lab_parameters:?}"
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay \
	/mnt/root
cd /mnt/root || exit
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t devtmpfs devtmpfs dev
mkdir -p dev/pts dev/shm
ln -s /proc/self/fd dev/fd
mount -t devpts devpts dev/pts
mount -t debugfs debugfs sys/kernel/debug
for dir in dev/shm run tmp; do
	mount -t tmpfs tmpfs "$dir"
done
if [ -n "${lab_folder:-}" ]; then
	mkdir -p ".$lab_folder"
	mount -t hostfs -o "$lab_folder" none ".$lab_folder"
fi
[ -n "${lab_terminal:-}" ] || stty -onlcr
# A program whose root is not that of its mount namespace may not make a user
# namespace, so chroot alone will not do.
pivot_root . mnt
umount -l mnt
# shellcheck disable=SC2016,SC2154 # expanded inside; of the environment
setsid ${lab_terminal:+--ctty} --wait chroot . /bin/bash -c \
	'cd "$1" && exec bash "$2" ${3:+"$3"}' bash \
	"$lab_cwd" "$lab_program" "${lab_command:-}"
exec busybox poweroff -f
