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

A test is a module test_NAME.py with functions marked as cases:

    @families("a megabyte each way")
    def both(family):
        with grows(flow_established=1):
            exchange(pair(family), 1000000)

    setup = attached

All of a test runs in one process, which goes from namespace to namespace by
setns(): under emulation, starting programs would take most of the time.
"""
