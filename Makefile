# SPDX-License-Identifier: GPL-2.0
#
# make                  module and tools for the kernel of KDIR
# make install          both of them, below DESTDIR; install-modules and
#                       install-tools for one
# make btf              module with BTF of its types, for the kernel that runs
# make style            the source checks, make netlink the generated code
#
# Tests and the demo are in scripts/lab.

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
DESTDIR ?=

all: modules tools

modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

btf: modules
	tools/trace/add-btf.sh kmod/pep.ko

tools:
	$(MAKE) -C tools/pepadm
	$(MAKE) -C tools/tc
	$(MAKE) -C tools/bench

install: install-modules install-tools

# Headers of a distribution have no System.map, without which modules_install
# leaves out depmod.
install-modules: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) \
		modules_install
ifeq ($(DESTDIR),)
	depmod "$$(cat $(KDIR)/include/config/kernel.release)"
endif

install-tools:
	$(MAKE) -C tools/pepadm install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	$(MAKE) -C tools/tc install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	$(MAKE) -C tools/trace install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	$(MAKE) -C tools/systemd install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	$(MAKE) -C tools/modprobe install DESTDIR=$(DESTDIR)

clean:
	$(MAKE) -C $(KDIR) M=$(CURDIR) clean
	$(MAKE) -C tools/pepadm clean
	$(MAKE) -C tools/tc clean
	$(MAKE) -C tools/bench clean
	$(MAKE) -C tools/systemd clean

style:
	scripts/lab style

netlink:
	scripts/lab netlink

.PHONY: all modules btf tools install install-modules install-tools clean style \
	netlink
