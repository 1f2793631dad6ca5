/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests whose right depends on their content: management datagrams, the services that answer
 * them, aliases of special queue pairs, and controlled Q_Keys. With the right "manage" a client may
 * send every datagram and have every service that the Access Layer offers; without that right only
 * those in the tables of this file.
 */
#include "al/agent/guard.h"

#include <string.h>

#include <iba/ib_mad.h>

/* True: the class is for vendors, and any client may send and answer datagrams of the class. All
 * other classes are IBTA's to assign. */
static bool is_vendors(uint8_t mgmt_class)
{
	return (mgmt_class >= IB_CLASS_VENDOR_1_FIRST && mgmt_class <= IB_CLASS_VENDOR_1_LAST) ||
	       (mgmt_class >= IB_CLASS_VENDOR_2_FIRST && mgmt_class <= IB_CLASS_VENDOR_2_LAST);
}

static bool is_subnet_management(uint8_t mgmt_class)
{
	return mgmt_class == IB_CLASS_SUBN_LID || mgmt_class == IB_CLASS_SUBN_DIR;
}

#define ANY_ATTRIBUTE 0x10000u /* an attribute has 16 bits */

/*
 * The datagrams that any client may send, or give to a port's agents, in the classes that IBTA
 * assigns: requests to the subnet administrator, to performance and to device management, and the
 * records by which a node takes part in the subnet. doc/guide-admin.md has this table in words.
 */
static const struct {
	uint8_t mgmt_class, method;
	uint32_t attribute;
} permitted[] = {
	{ IB_CLASS_SUBN_ADM, IB_METHOD_GET, ANY_ATTRIBUTE },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_GET_TABLE, ANY_ATTRIBUTE },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_GET_TRACE_TABLE, ANY_ATTRIBUTE },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_GET_MULTI, ANY_ATTRIBUTE },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SA_MCMEMBER_RECORD },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_DELETE, IB_SA_MCMEMBER_RECORD },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SA_SERVICE_RECORD },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_DELETE, IB_SA_SERVICE_RECORD },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SA_INFORM_INFO },
	{ IB_CLASS_PERF, IB_METHOD_GET, ANY_ATTRIBUTE },
	{ IB_CLASS_DEV_MGMT, IB_METHOD_GET, ANY_ATTRIBUTE },
};

static bool is_permitted(const struct ib_mad_hdr *hdr)
{
	for (size_t i = 0; i < sizeof(permitted) / sizeof(permitted[0]); i++)
		if (permitted[i].mgmt_class == hdr->mgmt_class &&
		    permitted[i].method == hdr->method &&
		    (permitted[i].attribute == ANY_ATTRIBUTE ||
		     permitted[i].attribute == ib_be16_get(hdr->attr_id)))
			return true;
	return false;
}

/* A service of subnet management, or one that answers requests of a class that IBTA assigns. */
static bool is_manager(const struct REG_MAD_SVC_request *request)
{
	return is_subnet_management(request->mgmt_class) ||
	       (!is_vendors(request->mgmt_class) && (request->methods[0] || request->methods[1]));
}

static bool is_managers(const struct ib_mad_hdr *hdr)
{
	return !is_vendors(hdr->mgmt_class) && !is_permitted(hdr);
}

/* The first record of a datagram has the whole header (mad.c); later records have none of it. */
static bool sends_managers(struct connection *connection)
{
	const struct SEND_MAD_request *request = connection_request(connection);
	struct ib_mad_hdr hdr;

	if (request->offset || connection->count[0] < sizeof(hdr))
		return false;
	memcpy(&hdr, connection_in(connection, 0), sizeof(hdr));
	return is_managers(&hdr);
}

/* The agents of a port carry out a request of LOCAL_MAD just as one that comes from the wire. */
static bool asks_managers(struct connection *connection)
{
	const struct LOCAL_MAD_request *request = connection_request(connection);

	return is_managers(&request->mad.hdr);
}

/* QP0 is the subnet manager's. */
static bool is_of_managers(const struct GET_SPL_QP_request *request)
{
	return request->qp_type == IB_QPT_SMI;
}

#define CONTROLLED_QKEY 0x80000000u /* bit of the Q_Keys of managers, IBTA 10.2.5 */

enum agent_right guard_right(struct connection *connection)
{
	const struct MODIFY_QP_request *qp = connection_request(connection);
	bool managers = false;

	if (connection->command == AGENT_REG_MAD_SVC)
		managers = is_manager(connection_request(connection));
	else if (connection->command == AGENT_SEND_MAD)
		managers = sends_managers(connection);
	else if (connection->command == AGENT_LOCAL_MAD)
		managers = asks_managers(connection);
	else if (connection->command == AGENT_GET_SPL_QP)
		managers = is_of_managers(connection_request(connection));
	else if (connection->command == AGENT_MODIFY_QP)
		managers = qp->mask & IB_QP_QKEY && qp->attr.qkey & CONTROLLED_QKEY;
	return managers ? RIGHT_MANAGE : RIGHT_OWN;
}
