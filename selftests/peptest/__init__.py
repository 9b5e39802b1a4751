# SPDX-License-Identifier: GPL-2.0
"""Library of pep's selftests.

  env     settings that run.py passes: kernel, module, tools
  traits  kernels and guests of each test
  complaints  messages of a kernel that report an error
  ktap    cases, expectations, the KTAP stream, dumps of a failure
  netns   namespaces, links, programs run in them, the usual topology
  tcp     both ends of connections, payload, hashes
  udp     numbered datagrams
  raw     hand-made and captured packets
  quoting ICMP errors about packets of legs
  absent  connections of hosts that do not exist, from hand-made packets
  nfqueue packets held by netfilter
  genl    generic netlink
  rtnl    links and filters that iproute2 cannot make
  settings  the settings of a profile
  pep     the module: loading, attaching, counters, flows
  monitor  notifications that pepadm monitor prints
  capture  segments at both ends' devices, and TCP's rules for them
  conntrack  entries of conntrack, by ctnetlink
  xdp     XDP programs for the ends' devices
  bypass  a link between the ends, beside the gateway
  container, firewall, service, cpu, debugfs  other parts of the gateway

Random load, test_soak.py and test_faults.py:

  soak    connections, networks, administration
  sites   places where the module allocates memory, and faults there
  rare    situations that are rare on a gateway
  faults  random load and rare situations, with faults
  kmemleak  leaked memory

Random requests, test_nlfuzz.py:

  spec    the netlink specification as tables
  forge   requests built from these tables, valid and broken
  edges   each attribute at the ends of its range
  judge   the errors that a request may return
  model   the configuration that results from accepted requests
  rights  processes that send with different privileges
  sender  sends requests and compares with judge and model
  actions requests for the tc action
  words   command lines and files of pepadm
  beside  connections that run at the same time

A test is a module test_NAME.py with functions marked as cases:

    @families("a megabyte each way")
    def both(family):
        with grows(flow_established=1):
            exchange(pair(family), 1000000)

    setup = pep.warmed

A whole test runs in one process, which changes namespaces with setns(): under
emulation, starting programs would take most of the time.
"""
