// SPDX-License-Identifier: GPL-2.0
/* Where the instance of a namespace is found. */

#include "net.h"

#include <net/netns/generic.h>

/* Number of the instances among all that namespaces have; set at load. */
unsigned int pep_net_id;

/**
 * pep_net() - find the instance of a namespace
 * @net: namespace
 *
 * Context: any.
 * Return: the instance; there is one as long as the module is loaded.
 */
struct pep_net *pep_net(const struct net *net)
{
	return net_generic(net, pep_net_id);
}
