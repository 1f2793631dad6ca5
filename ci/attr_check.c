/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Checks of the attributes that a module returns for an HCA and its ports, at the registration and
 * at each later query. Results of other operations are checked in al/verbs/check.c.
 */
#include <stdio.h>

#include "ci/internal.h"

/* A member of an attribute struct, and its range. */
struct range {
	const char *name;
	size_t offset, size;
	uint64_t least, most;
};
/* clang-format off: clang-format takes #member for a preprocessor directive */
#define RANGE(type, member, least, most)                                                  \
	{                                                                                 \
#member, offsetof(type, member), sizeof(((type *)0)->member), least, most \
	}
/* clang-format on */
#define CA(member, least, most)   RANGE(struct ib_ca_attr, member, least, most)
#define PORT(member, least, most) RANGE(struct ib_port_attr, member, least, most)

static const struct range ca_ranges[] = {
	CA(node_guid, 1, UINT64_MAX), /* 0 is no GUID */
	CA(num_ports, 1, 254),
	CA(num_comp_vectors, 1, 2048), /* a PCI function has at most 2048 MSI-X interrupts */
	CA(vendor_id, 0, 0xffffff),
	CA(atomic_cap, IB_ATOMIC_NONE, IB_ATOMIC_GLOBAL),
	CA(masked_atomic_cap, IB_ATOMIC_NONE, IB_ATOMIC_GLOBAL),
	CA(node_type, IB_NODE_CA, IB_NODE_SWITCH),
};

/* An external port of a switch needs no such tables. */
static const struct range table_ranges[] = {
	PORT(gid_tbl_len, 1, 1u << 16), /* an index of the table has 16 bits */
	PORT(pkey_tbl_len, 1, 1u << 16),
};

static const struct range port_ranges[] = {
	PORT(state, IB_PORT_DOWN, IB_PORT_ACTIVE),
	PORT(phys_state, IB_PHYS_NOP, IB_PHYS_TEST),
	PORT(link_layer, IB_LINK_LAYER_UNSPECIFIED, IB_LINK_LAYER_ETHERNET),
	PORT(max_mtu, IB_MTU_256, IB_MTU_4096),
	PORT(max_msg_size, 0, 1u << 31),
	PORT(gid_tbl_len, 0, 1u << 16),
	PORT(pkey_tbl_len, 0, 1u << 16),
	PORT(lmc, 0, 7),
	PORT(sm_sl, 0, 15),
};

/* Reads a member. No member of the ranges has two bytes. */
static uint64_t member(const void *attr, const struct range *r)
{
	const char *at = (const char *)attr + r->offset;

	switch (r->size) {
	case 1:
		return *(const uint8_t *)at;
	case 4:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

/* The first member that is out of its range, or NULL. */
static const struct range *find_wrong(const void *attr, const struct range *ranges, size_t num)
{
	for (const struct range *r = ranges; r < ranges + num; r++)
		if (member(attr, r) < r->least || member(attr, r) > r->most)
			return r;
	return NULL;
}

static al_status query_failed(const char *op, al_status st, char text[CI_TEXT_MAX])
{
	ci_set_text(text, "%s failed: %s", op, ci_status_text(st));
	return ci_module_status(st);
}

al_status ci_query_ca(const struct ci_interface *ops, struct ci_ca *ca, struct ib_ca_attr *attr,
		      char text[CI_TEXT_MAX])
{
	struct ib_ca_attr found = { 0 };
	al_status st = ops->query_ca(ca, &found);
	const struct range *r;

	if (st)
		return query_failed("query_ca", st, text);
	if (!found.node_type) /* a module that does not know of node types */
		found.node_type = IB_NODE_CA;
	r = find_wrong(&found, ca_ranges, sizeof(ca_ranges) / sizeof(ca_ranges[0]));
	if (r) {
		ci_set_text(text, "query_ca returned %s %llu; valid are %llu to %llu", r->name,
			    (unsigned long long)member(&found, r), (unsigned long long)r->least,
			    (unsigned long long)r->most);
		return AL_MODULE_FAILED;
	}
	found.node_desc[sizeof(found.node_desc) - 1] = '\0';
	found.fw_ver[sizeof(found.fw_ver) - 1] = '\0';
	found.location[sizeof(found.location) - 1] = '\0';
	*attr = found;
	return AL_SUCCESS;
}

/* True: the port is an external port of a switch. */
static bool is_external(const struct ci_ca *ca, uint8_t port)
{
	return port && ((const struct ci_registration *)ca->ctx)->attr.node_type == IB_NODE_SWITCH;
}

al_status ci_query_port(const struct ci_interface *ops, struct ci_ca *ca, uint8_t port,
			struct ib_port_attr *attr, char text[CI_TEXT_MAX])
{
	struct ib_port_attr found = { 0 };
	al_status st = ops->query_port(ca, port, &found);
	const struct range *r;
	char op[32];

	if (st) {
		snprintf(op, sizeof(op), "query_port of port %u", port);
		return query_failed(op, st, text);
	}
	r = is_external(ca, port) ? NULL
				  : find_wrong(&found, table_ranges,
					       sizeof(table_ranges) / sizeof(table_ranges[0]));
	if (!r)
		r = find_wrong(&found, port_ranges, sizeof(port_ranges) / sizeof(port_ranges[0]));
	if (r) {
		ci_set_text(text, "query_port returned %s %llu for port %u; valid are %llu to %llu",
			    r->name, (unsigned long long)member(&found, r), port,
			    (unsigned long long)r->least, (unsigned long long)r->most);
		return AL_MODULE_FAILED;
	}
	/* A port that is not active may have no active_mtu yet. */
	if (found.active_mtu > found.max_mtu ||
	    (found.state == IB_PORT_ACTIVE && !found.active_mtu)) {
		ci_set_text(text,
			    "query_port returned active_mtu %u for port %u, whose max_mtu is %u",
			    found.active_mtu, port, found.max_mtu);
		return AL_MODULE_FAILED;
	}
	/* Adapters report the permissive LID, or an old LID, until a subnet manager assigns a LID.
	 */
	if (found.lid > IB_LID_UNICAST_LAST && found.state >= IB_PORT_ARMED) {
		ci_set_text(text, "query_port returned lid %u for port %u; valid are 0 to %u",
			    found.lid, port, IB_LID_UNICAST_LAST);
		return AL_MODULE_FAILED;
	}
	*attr = found;
	return AL_SUCCESS;
}
