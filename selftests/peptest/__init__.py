# SPDX-License-Identifier: GPL-2.0
"""What pep's selftests are written with.

  env     what run.py was told: kernel, module, tools
  ktap    cases, expectations, the KTAP stream, dumps of a failure
  netns   namespaces, links, programs run in them, the usual topology
  tcp     both ends of connections, payload, hashes
  udp     numbered datagrams
  raw     packets made by hand
  genl    generic netlink
  rtnl    links and filters that iproute2 does not make
  pep     the module: loading, attaching, counters, flows

Random life, test_soak.py and test_faults.py:

  soak    connections, networks, administration
  sites   places of the module that ask for memory, and faults there
  rare    situations that a gateway seldom meets
  faults  random life, and those, with faults
  kmemleak  memory that is lost

Requests at random, test_nlfuzz.py:

  spec    the netlink specification as tables
  forge   requests made from it, right and broken
  edges   each attribute at the ends of its range
  judge   the errors that a request may get
  model   the configuration that accepted requests make
  rights  processes that send with rights of their own
  sender  sends, and compares with judge and model
  actions requests about the tc action
  words   command lines and files of pepadm
  beside  connections meanwhile

A test is a module test_NAME.py with functions marked as cases:

    @families("a megabyte each way")
    def both(family):
        with grows(flow_established=1):
            exchange(pair(family), 1000000)

    setup = attached

All of a test runs in one process, which goes from namespace to namespace by
setns(): under emulation, starting programs would take most of the time.
"""
