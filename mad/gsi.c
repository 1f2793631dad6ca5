/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Responses of the general services interface. See gsi.h. */
#include "mad/gsi.h"

/* Offset of the flags of RMPP in ib_mad.data, and the flag of a datagram that RMPP carries. */
#define RMPP_FLAGS_AT 2
#define RMPP_ACTIVE   1

/* Classes whose datagrams have the header of RMPP, IBTA 13.6.2.1. */
static bool has_rmpp(uint8_t mgmt_class)
{
	return mgmt_class == IB_CLASS_SUBN_ADM || mgmt_class == IB_CLASS_DEV_ADM ||
	       mgmt_class == IB_CLASS_BIS ||
	       (mgmt_class >= IB_CLASS_VENDOR_2_FIRST && mgmt_class <= IB_CLASS_VENDOR_2_LAST);
}

bool gsi_expects_response(const struct ib_mad *mad)
{
	switch (mad->hdr.method) {
	case IB_METHOD_SEND:
	case IB_METHOD_TRAP:
	case IB_METHOD_REPORT:
	case IB_METHOD_TRAP_REPRESS:
		return false;
	default:
		break;
	}
	if (mad->hdr.method & IB_METHOD_RESP)
		return false;
	return !has_rmpp(mad->hdr.mgmt_class) || !(mad->data[RMPP_FLAGS_AT] & RMPP_ACTIVE);
}

/* Method of the response to a method. */
static uint8_t response_method(uint8_t method)
{
	if (method == IB_METHOD_SET)
		return IB_METHOD_GET_RESP;
	if (method == IB_METHOD_GET_TRACE_TABLE)
		return IB_METHOD_GET_TABLE_RESP;
	return method | IB_METHOD_RESP;
}

void gsi_respond(const struct ib_mad *request, uint16_t status, struct ib_mad *out)
{
	uint8_t method = response_method(request->hdr.method);

	*out = *request;
	out->hdr.base_version = IB_MAD_BASE_VERSION;
	out->hdr.method = method;
	out->hdr.status = ib_be16_of(status);
}

bool gsi_answer_unserved(const struct ib_mad *mad, struct ib_mad *out)
{
	if (!gsi_expects_response(mad))
		return false;
	gsi_respond(mad, IB_MAD_STATUS_BAD_VERSION, out);
	return true;
}
