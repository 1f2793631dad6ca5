/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Responses of the general services interface: which datagrams expect a response, how a response is
 * made of a request, and the response to a request that no service and no agent of the port takes
 * (IBTA 13.4.5 to 13.4.7).
 */
#ifndef IBAL_MAD_GSI_H
#define IBAL_MAD_GSI_H

#include <stdbool.h>

#include <iba/ib_mad.h>

/* Does the sender of a datagram wait for a response? Not for one to a response, Send, Trap, Report
 * or TrapRepress, and not for one to a segment or an acknowledgement of RMPP. */
bool gsi_expects_response(const struct ib_mad *mad);

/* Makes *out, which may be the request itself, a response of a status with the request's data. */
void gsi_respond(const struct ib_mad *request, uint16_t status, struct ib_mad *out);

/* Answers a datagram that no service and no agent takes. true: *out is the response, which says
 * that its version or class is not supported. */
bool gsi_answer_unserved(const struct ib_mad *mad, struct ib_mad *out);

#endif
