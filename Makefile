# SPDX-License-Identifier: GPL-2.0
#
# make            module and tools for the kernel of KDIR
# make install    both of them, below DESTDIR
# make style      the source checks, make netlink the generated code
#
# Tests and the demo are in scripts/lab.

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
DESTDIR ?=

all: modules tools

modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

tools:
	$(MAKE) -C tools/pepadm
	$(MAKE) -C tools/bench

install: all
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) \
		modules_install
	$(MAKE) -C tools/pepadm install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)

clean:
	$(MAKE) -C $(KDIR) M=$(CURDIR) clean
	$(MAKE) -C tools/pepadm clean
	$(MAKE) -C tools/bench clean

style:
	scripts/lab style

netlink:
	scripts/lab netlink

.PHONY: all modules tools install clean style netlink
