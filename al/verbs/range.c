/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of values of a channel driver that several verbs have in common, and their reasons. */
#include "al/verbs/verbs.h"

static uint32_t first_port(const struct al_dev *dev)
{
	return ci_first_port(&dev->attr);
}

al_status check_port(const struct al_dev *dev, const char *name, uint8_t port)
{
	if (dev_has_port(dev, port))
		return AL_SUCCESS;
	return ib_refuse(AL_INVALID_PORT, "%s is %u, and the HCA's ports are %u to %u", name, port,
			 first_port(dev), dev->attr.num_ports);
}

al_status check_end_port(const struct al_dev *dev, const char *name, uint8_t port)
{
	if (dev_has_end_port(dev, port))
		return AL_SUCCESS;
	if (dev_is_switch(dev))
		return ib_refuse(AL_INVALID_PORT,
				 "%s is %u, and only port 0 of a switch has queue pairs", name,
				 port);
	return ib_refuse(AL_INVALID_PORT, "%s is %u, and the HCA's ports are 1 to %u", name, port,
			 dev->attr.num_ports);
}

al_status check_pkey_index(const struct al_dev *dev, const char *name, uint8_t port, uint32_t index)
{
	if (index < dev->ports[port].pkey_tbl_len)
		return AL_SUCCESS;
	return ib_refuse(AL_INVALID_PKEY_INDEX,
			 "%s is %u, and the P_Key table of port %u has %u entries", name, index,
			 port, dev->ports[port].pkey_tbl_len);
}

al_status check_gid_index(const struct al_dev *dev, const char *name, uint8_t port, uint32_t index)
{
	if (index < dev->ports[port].gid_tbl_len)
		return AL_SUCCESS;
	return ib_refuse(AL_INVALID_GID_INDEX,
			 "%s is %u, and the GID table of port %u has %u entries", name, index, port,
			 dev->ports[port].gid_tbl_len);
}

al_status check_most(al_status status, const char *name, uint32_t value, uint32_t most)
{
	if (value <= most)
		return AL_SUCCESS;
	return ib_refuse(status, "%s is %u, and the most is %u", name, value, most);
}
