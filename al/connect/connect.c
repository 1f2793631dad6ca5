/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Making a queue pair's card, and connecting a queue pair by both ends' cards. The functions use
 * the functions of ib_al.h alone, so that a program could have them as its own.
 */
#include "al/connect/connect.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "al/object/object.h"
#include "ci/ci.h"

#define REMOTE_ACCESS (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* -------------------------------------------------------------------- options */

static const struct al_connect_opt defaults;

/* A value of the options: 0 stands for the default, and AL_CONNECT_NONE for 0. */
static uint8_t chosen(uint8_t value, uint8_t standard)
{
	if (value == AL_CONNECT_NONE)
		return 0;
	return value ? value : standard;
}

static al_status check_opt(const struct al_connect_opt *opt)
{
	const struct {
		const char *name;
		uint32_t value, most;
		bool or_none; /* AL_CONNECT_NONE is a value, too */
	} ranges[] = {
		{ "mtu", opt->mtu, IB_MTU_4096, false },
		{ "gid_index", opt->gid_index, UINT16_MAX, false },
		{ "sl", opt->sl, 15, false },
		{ "timeout", opt->timeout, 31, true },
		{ "retry_cnt", opt->retry_cnt, 7, true },
		{ "rnr_retry", opt->rnr_retry, 7, true },
		{ "min_rnr_timer", opt->min_rnr_timer, 31, false },
	};
	const uint32_t access = IB_ACCESS_LOCAL_WRITE | REMOTE_ACCESS;

	if (opt->pad || opt->pad2 || opt->reserved[0] || opt->reserved[1] || opt->reserved[2] ||
	    opt->reserved[3])
		return ib_refuse(AL_INVALID_PARAMETER, "reserved of the options is not zero");
	if (opt->access & ~access)
		return ib_refuse(
			AL_INVALID_PARAMETER,
			"access of the options has the bits %#x, which are no access of queue pairs",
			opt->access & ~access);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ranges[i].value > ranges[i].most &&
		    !(ranges[i].or_none && ranges[i].value == AL_CONNECT_NONE))
			return ib_refuse(AL_INVALID_PARAMETER,
					 "%s of the options is %u, and the most is %u",
					 ranges[i].name, ranges[i].value, ranges[i].most);
	return AL_SUCCESS;
}

/* ---------------------------------------------------------------------- cards */

static al_status draw(void *number, size_t size)
{
	if (getrandom(number, size, 0) == (ssize_t)size)
		return AL_SUCCESS;
	return ib_refuse(AL_IO_ERROR, "the system gives no random numbers");
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What the card says of the port. */
static al_status describe_port(al_ca_h ca, const struct al_connect_opt *opt,
			       struct al_qp_card *card)
{
	struct ib_port_attr port;
	al_status status = al_query_port(ca, card->port_num, &port);

	if (status)
		return status;
	if (port.state != IB_PORT_ACTIVE)
		return ib_refuse(
			AL_PORT_DOWN,
			"port %u is %s, and a queue pair connects by a port that is Active",
			card->port_num, al_port_state_str(port.state));
	/* A port that does not specify its link layer is reached by its LID. */
	card->link_layer = port.link_layer == IB_LINK_LAYER_ETHERNET ? IB_LINK_LAYER_ETHERNET
								     : IB_LINK_LAYER_INFINIBAND;
	card->lid = card->link_layer == IB_LINK_LAYER_ETHERNET ? 0 : port.lid;
	card->max_msg_size = port.max_msg_size;
	card->mtu = opt->mtu && opt->mtu < port.active_mtu ? opt->mtu : port.active_mtu;
	status = al_query_gid(ca, card->port_num, opt->gid_index, &card->gid);
	if (!status)
		status = al_query_pkey(ca, card->port_num, opt->pkey_index, &card->pkey);
	if (!status && !(card->pkey & IB_PKEY_VALUE_MASK))
		status = ib_refuse(AL_INVALID_PKEY_INDEX,
				   "entry %u of the P_Key table of port %u is empty",
				   opt->pkey_index, card->port_num);
	return status;
}

static al_status describe_qp(al_qp_h qp, const struct al_connect_opt *opt, struct al_qp_card *card)
{
	struct ib_qp_attr attr;
	struct al_qp_init init;
	al_status status = al_query_qp(qp, &attr, &init);

	if (!status)
		status = al_qp_num(qp, &card->qpn);
	if (status)
		return status;
	if (init.qp_type != IB_QPT_RC && init.qp_type != IB_QPT_UC && init.qp_type != IB_QPT_UD)
		return ib_refuse(AL_INVALID_QP_TYPE,
				 "the queue pair is of type %s, and cards are for RC, UC and UD",
				 al_qp_type_str(init.qp_type));
	card->qp_type = init.qp_type;
	status = draw(&card->psn, sizeof(card->psn));
	card->psn &= IB_PSN_MASK;
	if (status || card->qp_type != IB_QPT_UD)
		return status;
	card->qkey = opt->qkey;
	while (!status && !card->qkey) {
		status = draw(&card->qkey, sizeof(card->qkey));
		card->qkey &= ~(1u << 31); /* with the top bit a sender's own Q_Key is sent */
	}
	return status;
}

static al_status describe_ca(al_ca_h ca, const struct al_connect_opt *opt, struct al_qp_card *card)
{
	const uint32_t most = opt->rd_atomic ? chosen(opt->rd_atomic, 0) : AL_CONNECT_RD_ATOMIC;
	struct ib_ca_attr attr;
	al_status status = al_query_ca(ca, &attr);

	if (status)
		return status;
	card->node_guid = attr.node_guid;
	if (card->qp_type == IB_QPT_RC) {
		card->initiator_depth = (uint8_t)least(attr.max_qp_init_rd_atom, most);
		card->responder_resources = (uint8_t)least(attr.max_qp_rd_atom, most);
	}
	return AL_SUCCESS;
}

al_status al_qp_card(al_ca_h ca, uint8_t port_num, al_qp_h qp, const struct al_connect_opt *opt,
		     struct al_qp_card *card)
{
	struct al_qp_card made = { .port_num = port_num };
	al_status status;

	if (!card)
		return REFUSE(AL_INVALID_PARAMETER, "card is NULL");
	if (!opt)
		opt = &defaults;
	status = check_opt(opt);
	if (!status)
		status = describe_qp(qp, opt, &made);
	if (!status)
		status = describe_port(ca, opt, &made);
	if (!status)
		status = describe_ca(ca, opt, &made);
	if (!status)
		status = card_check(&made, "the");
	if (!status)
		*card = made;
	return SETTLED(status);
}

/* ----------------------------------------------------------------- connecting */

/* Checks both ends' cards, and that a path leads from one to the other. */
static al_status check_ends(const struct al_qp_card *mine, const struct al_qp_card *peer)
{
	al_status status = card_check(mine, "the queue pair's");

	if (!status)
		status = card_check(peer, "the peer's");
	if (status)
		return status;
	if (peer->qp_type != mine->qp_type)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "the peer's queue pair is of type %s, and this one of type %s",
				 al_qp_type_str(peer->qp_type), al_qp_type_str(mine->qp_type));
	if (peer->link_layer != mine->link_layer)
		return ib_refuse(
			AL_INVALID_PARAMETER, "the peer's link layer is %s, and this port's is %s",
			al_link_layer_str(peer->link_layer), al_link_layer_str(mine->link_layer));
	if ((peer->pkey ^ mine->pkey) & IB_PKEY_VALUE_MASK)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "the peer is in partition %#x, and this end in partition %#x",
				 peer->pkey & IB_PKEY_VALUE_MASK, mine->pkey & IB_PKEY_VALUE_MASK);
	if (!((peer->pkey | mine->pkey) & IB_PKEY_FULL_MEMBER))
		return ib_refuse(AL_INVALID_PARAMETER,
				 "both ends are limited members of partition %#x, and such do not "
				 "reach each other",
				 mine->pkey);
	return AL_SUCCESS;
}

static struct ib_ah_attr path_to(const struct al_qp_card *mine, const struct al_qp_card *peer,
				 const struct al_connect_opt *opt)
{
	struct ib_ah_attr path = { .dlid = peer->lid, .sl = opt->sl, .port_num = mine->port_num };

	path.is_global = opt->global || mine->link_layer == IB_LINK_LAYER_ETHERNET;
	if (path.is_global)
		path.grh = (struct ib_global_route){
			.dgid = peer->gid,
			.sgid_index = (uint16_t)opt->gid_index,
			.hop_limit = opt->hop_limit ? opt->hop_limit : 64,
			.traffic_class = opt->traffic_class,
		};
	return path;
}

al_status al_card_address(const struct al_qp_card *mine, const struct al_qp_card *peer,
			  const struct al_connect_opt *opt, struct ib_ah_attr *path)
{
	al_status status;

	if (!mine || !peer || !path)
		return REFUSE(AL_INVALID_PARAMETER, "mine, peer or path is NULL");
	if (!opt)
		opt = &defaults;
	status = check_opt(opt);
	if (!status)
		status = check_ends(mine, peer);
	if (!status)
		*path = path_to(mine, peer, opt);
	return SETTLED(status);
}

/* The attributes that each transition requires, by type of queue pair (IBTA 11.2.4.2). */
static const struct steps {
	uint32_t init, rtr, rts;
} steps[IB_QPT_COUNT] = {
	[IB_QPT_RC] = {
		.init = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
		.rtr = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
		       IB_QP_MIN_RNR_TIMER,
		.rts = IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC,
	},
	[IB_QPT_UC] = {
		.init = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
		.rtr = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN,
		.rts = IB_QP_SQ_PSN,
	},
	[IB_QPT_UD] = {
		.init = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY,
		.rts = IB_QP_SQ_PSN,
	},
};

/* peer: NULL with UD. */
static struct ib_qp_attr attributes(const struct al_qp_card *mine, const struct al_qp_card *peer,
				    const struct al_connect_opt *opt)
{
	struct ib_qp_attr attr = {
		.port_num = mine->port_num,
		.pkey_index = opt->pkey_index,
		.qp_access_flags = opt->access,
		.qkey = mine->qkey,
		.sq_psn = mine->psn,
		.timeout = chosen(opt->timeout, 14),
		.retry_cnt = chosen(opt->retry_cnt, 7),
		.rnr_retry = chosen(opt->rnr_retry, 7),
		.min_rnr_timer = opt->min_rnr_timer ? opt->min_rnr_timer : 12,
		.max_dest_rd_atomic = mine->responder_resources,
	};

	if (!opt->access)
		attr.qp_access_flags =
			mine->qp_type == IB_QPT_RC ? REMOTE_ACCESS : IB_ACCESS_REMOTE_WRITE;
	if (!peer)
		return attr;
	attr.path_mtu = peer->mtu < mine->mtu ? peer->mtu : mine->mtu;
	attr.dest_qp_num = peer->qpn;
	attr.rq_psn = peer->psn;
	attr.max_rd_atomic = (uint8_t)least(mine->initiator_depth, peer->responder_resources);
	attr.ah_attr = path_to(mine, peer, opt);
	return attr;
}

/* Makes a step. If it is refused, the queue pair goes back to Reset if it has left that state by
 * these steps, and the reason names the step. */
static al_status step(al_qp_h qp, struct ib_qp_attr *attr, ib_qp_state to, uint32_t mask, bool back)
{
	const struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	char why[512];
	al_status status;

	attr->qp_state = to;
	status = al_modify_qp(qp, attr, IB_QP_STATE | mask);
	if (!status)
		return AL_SUCCESS;
	snprintf(why, sizeof(why), "%s", al_reason());
	if (back)
		al_modify_qp(qp, &reset, IB_QP_STATE);
	return ib_refuse(status, "the queue pair is not connected, the step to %s fails: %s",
			 al_qp_state_str(to), why);
}

static al_status connect_qp(al_qp_h qp, const struct al_qp_card *mine,
			    const struct al_qp_card *peer, const struct al_connect_opt *opt)
{
	const struct steps *mask = &steps[mine->qp_type];
	struct ib_qp_attr attr, now;
	struct al_qp_init init;
	bool fresh;
	al_status status = al_query_qp(qp, &now, &init);

	if (status)
		return status;
	if (init.qp_type != mine->qp_type)
		return ib_refuse(AL_INVALID_QP_TYPE,
				 "the queue pair is of type %s, and its card of type %s",
				 al_qp_type_str(init.qp_type), al_qp_type_str(mine->qp_type));
	if (now.qp_state != IB_QPS_RESET && now.qp_state != IB_QPS_INIT)
		return ib_refuse(AL_INVALID_TRANSITION,
				 "the queue pair is in the state %s, and can be connected from "
				 "Reset and Init",
				 al_qp_state_str(now.qp_state));
	attr = attributes(mine, mine->qp_type == IB_QPT_UD ? NULL : peer, opt);
	fresh = now.qp_state == IB_QPS_RESET;
	if (fresh)
		status = step(qp, &attr, IB_QPS_INIT, mask->init, false);
	if (!status)
		status = step(qp, &attr, IB_QPS_RTR, mask->rtr, fresh);
	if (!status)
		status = step(qp, &attr, IB_QPS_RTS, mask->rts, true);
	return status;
}

al_status al_connect_qp(al_qp_h qp, const struct al_qp_card *mine, const struct al_qp_card *peer,
			const struct al_connect_opt *opt)
{
	al_status status;

	if (!mine)
		return REFUSE(AL_INVALID_PARAMETER, "mine, the queue pair's card, is NULL");
	if (!opt)
		opt = &defaults;
	status = check_opt(opt);
	if (!status)
		status = card_check(mine, "the queue pair's");
	if (!status && mine->qp_type != IB_QPT_UD)
		status = peer ? check_ends(mine, peer)
			      : ib_refuse(AL_INVALID_PARAMETER, "peer is NULL");
	if (!status)
		status = connect_qp(qp, mine, peer, opt);
	return SETTLED(status);
}
