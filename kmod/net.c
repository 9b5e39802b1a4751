// SPDX-License-Identifier: GPL-2.0
/* Lookup of the instance of a namespace. */

#include "net.h"

#include <net/netns/generic.h>

/* Id of the instances in the namespaces' net_generic(); set at load. */
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
