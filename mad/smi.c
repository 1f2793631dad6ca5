/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The subnet management interface: LID-routed packets and directed routes. See smi.h. */
#include "mad/smi.h"

static enum smi_verdict leave_by(const struct smi_node *node, uint8_t port, struct smi_way *way)
{
	if (!port || port > node->num_ports)
		return SMI_DROP;
	way->port = port;
	return SMI_FORWARD;
}

static enum smi_verdict route_to(uint16_t lid, struct smi_way *way)
{
	way->dlid = lid;
	return SMI_ROUTE;
}

/* Behind the directed part, the packet is at its end unless a LID-routed part follows. */
static enum smi_verdict leave_directed_part(bool may_route, ib_be16 dr_lid, struct smi_way *way)
{
	uint16_t lid = ib_be16_get(dr_lid);

	if (lid == IB_LID_PERMISSIVE)
		return SMI_LOCAL;
	if (!may_route || lid < IB_LID_UNICAST_FIRST || lid > IB_LID_UNICAST_LAST)
		return SMI_DROP;
	return route_to(lid, way);
}

static bool is_permissive(ib_be16 lid)
{
	return ib_be16_get(lid) == IB_LID_PERMISSIVE;
}

/* C14-9: a request on its way out. */
static enum smi_verdict receive_outgoing(const struct smi_node *node, uint8_t in_port,
					 struct ib_smp *smp, struct smi_way *way)
{
	if (smp->hop_ptr == smp->hop_count + 1)
		return SMI_LOCAL;
	if (smp->hop_ptr > smp->hop_count)
		return SMI_DROP;
	if (smp->hop_ptr == smp->hop_count) {
		if (smp->hop_count)
			smp->return_path[smp->hop_ptr] = in_port;
		smp->hop_ptr++;
		return leave_directed_part(node->is_switch, smp->dr_dlid, way);
	}
	if (!node->is_switch)
		return SMI_DROP;
	if (smp->hop_ptr)
		smp->return_path[smp->hop_ptr] = in_port;
	else if (is_permissive(smp->dr_slid)) /* the sender was the first to count */
		return SMI_DROP;
	smp->hop_ptr++;
	return leave_by(node, smp->initial_path[smp->hop_ptr], way);
}

/* C14-13: a response on its way back. */
static enum smi_verdict receive_returning(const struct smi_node *node, struct ib_smp *smp,
					  struct smi_way *way)
{
	if (!smp->hop_ptr)
		return SMI_LOCAL;
	if (smp->hop_ptr == 1) {
		smp->hop_ptr = 0;
		return leave_directed_part(node->is_switch, smp->dr_slid, way);
	}
	if (!node->is_switch || smp->hop_ptr > smp->hop_count + 1)
		return SMI_DROP;
	if (smp->hop_ptr > smp->hop_count &&
	    is_permissive(smp->dr_dlid)) /* the responder was the first to count */
		return SMI_DROP;
	smp->hop_ptr--;
	return leave_by(node, smp->return_path[smp->hop_ptr], way);
}

enum smi_verdict smi_receive(const struct smi_node *node, uint8_t in_port, struct ib_smp *smp,
			     struct smi_way *way)
{
	*way = (struct smi_way){ .dlid = IB_LID_PERMISSIVE };
	if (in_port > node->num_ports || (!in_port && !node->is_switch))
		return SMI_DROP;
	if (smp->mgmt_class == IB_CLASS_SUBN_LID)
		return SMI_LOCAL;
	if (smp->mgmt_class != IB_CLASS_SUBN_DIR || smp->hop_count > IB_SMP_HOPS_MAX)
		return SMI_DROP;
	return smi_returning(smp) ? receive_returning(node, smp, way)
				  : receive_outgoing(node, in_port, smp, way);
}

/* A port of an HCA sends by itself only; a switch sends by each of its ports. */
static enum smi_verdict send_by(const struct smi_node *node, uint8_t port, uint8_t path_port,
				struct smi_way *way)
{
	if (!node->is_switch && port != path_port)
		return SMI_DROP;
	return leave_by(node, path_port, way);
}

static enum smi_verdict send_outgoing(const struct smi_node *node, uint8_t port, uint16_t dlid,
				      struct ib_smp *smp, struct smi_way *way)
{
	if (smp->hop_ptr)
		return SMI_DROP;
	if (!is_permissive(smp->dr_slid))
		return route_to(dlid, way);
	smp->hop_ptr = 1;
	if (!smp->hop_count)
		return leave_directed_part(node->is_switch, smp->dr_dlid, way);
	return send_by(node, port, smp->initial_path[1], way);
}

static enum smi_verdict send_returning(const struct smi_node *node, uint8_t port, uint16_t dlid,
				       struct ib_smp *smp, struct smi_way *way)
{
	if (smp->hop_ptr != smp->hop_count + 1)
		return SMI_DROP;
	if (!is_permissive(smp->dr_dlid))
		return route_to(dlid, way);
	smp->hop_ptr--;
	if (!smp->hop_count) /* every node may route its own response */
		return leave_directed_part(true, smp->dr_slid, way);
	return send_by(node, port, smp->return_path[smp->hop_ptr], way);
}

enum smi_verdict smi_send(const struct smi_node *node, uint8_t port, uint16_t dlid,
			  struct ib_smp *smp, struct smi_way *way)
{
	*way = (struct smi_way){ .dlid = IB_LID_PERMISSIVE };
	if (smp->mgmt_class == IB_CLASS_SUBN_LID)
		return route_to(dlid, way);
	if (smp->mgmt_class != IB_CLASS_SUBN_DIR || smp->hop_count > IB_SMP_HOPS_MAX)
		return SMI_DROP;
	return smi_returning(smp) ? send_returning(node, port, dlid, smp, way)
				  : send_outgoing(node, port, dlid, smp, way);
}
