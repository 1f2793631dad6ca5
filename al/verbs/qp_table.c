/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The state table of queue pairs (IBTA 10.3.1 and table 91): the required and the optional
 * attributes of each transition, by queue pair type. qp.c checks the attributes' values. The module
 * carries the transition out.
 */
#include <stdio.h>
#include <string.h>

#include "al/verbs/verbs.h"

#define TYPE(t)   (1u << IB_QPT_##t)
#define UC        TYPE(UC)
#define RC        TYPE(RC)
#define INI       TYPE(XRC_INI)
#define TGT       TYPE(XRC_TGT)
#define UD        TYPE(UD)
#define RD        TYPE(RD)
#define SPECIAL   (TYPE(SMI) | TYPE(GSI))
#define RAW       (TYPE(RAW_PACKET) | TYPE(RAW_IPV6) | TYPE(RAW_ETHERTYPE))
#define XRC       (INI | TGT)
#define CONNECTED (UC | RC | XRC)
#define ALL       (CONNECTED | UD | RD | SPECIAL | RAW)

/* Groups of attributes that several transitions use. */
#define PATH    (IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN)
#define RESPOND (IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define RETRY   (IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY)
#define MIGRATE (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE)
#define LIVE \
	(IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS | MIGRATE) /* optional for connected types in RTS */

struct transition {
	ib_qp_state from, to;
	uint32_t types;    /* queue pair types that the row applies to, TYPE() */
	uint32_t required; /* attributes that must be given, except IB_QP_STATE, which every change
			      of state requires */
	uint32_t optional; /* attributes that may be given */
};

static const struct transition table[] = {
	{ IB_QPS_RESET, IB_QPS_INIT, CONNECTED, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
	  0 },
	{ IB_QPS_RESET, IB_QPS_INIT, UD, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, 0 },
	{ IB_QPS_RESET, IB_QPS_INIT, SPECIAL, IB_QP_PKEY_INDEX | IB_QP_QKEY, 0 },
	{ IB_QPS_RESET, IB_QPS_INIT, RD, IB_QP_QKEY, 0 },
	{ IB_QPS_RESET, IB_QPS_INIT, RAW, IB_QP_PORT, 0 },

	{ IB_QPS_INIT, IB_QPS_INIT, CONNECTED, 0,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ IB_QPS_INIT, IB_QPS_INIT, UD, 0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY },
	{ IB_QPS_INIT, IB_QPS_INIT, SPECIAL, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ IB_QPS_INIT, IB_QPS_INIT, RD, 0, IB_QP_QKEY },
	{ IB_QPS_INIT, IB_QPS_INIT, RAW, 0, IB_QP_PORT },

	{ IB_QPS_INIT, IB_QPS_RTR, UC | INI, PATH,
	  IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
	{ IB_QPS_INIT, IB_QPS_RTR, RC | TGT, PATH | RESPOND,
	  IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
	{ IB_QPS_INIT, IB_QPS_RTR, UD | SPECIAL, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ IB_QPS_INIT, IB_QPS_RTR, RD, 0, IB_QP_QKEY },
	{ IB_QPS_INIT, IB_QPS_RTR, RAW, 0, 0 },

	{ IB_QPS_RTR, IB_QPS_RTS, UC, IB_QP_SQ_PSN, LIVE },
	{ IB_QPS_RTR, IB_QPS_RTS, RC, RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC,
	  LIVE | IB_QP_MIN_RNR_TIMER },
	{ IB_QPS_RTR, IB_QPS_RTS, INI, RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC, LIVE },
	{ IB_QPS_RTR, IB_QPS_RTS, TGT, IB_QP_TIMEOUT | IB_QP_SQ_PSN, LIVE | IB_QP_MIN_RNR_TIMER },
	{ IB_QPS_RTR, IB_QPS_RTS, UD | SPECIAL, IB_QP_SQ_PSN, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ IB_QPS_RTR, IB_QPS_RTS, RD, 0, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ IB_QPS_RTR, IB_QPS_RTS, RAW, 0, IB_QP_CUR_STATE },

	{ IB_QPS_RTS, IB_QPS_RTS, UC | INI, 0, LIVE },
	{ IB_QPS_RTS, IB_QPS_RTS, RC | TGT, 0, LIVE | IB_QP_MIN_RNR_TIMER },
	{ IB_QPS_RTS, IB_QPS_RTS, UD | SPECIAL | RD, 0, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ IB_QPS_RTS, IB_QPS_RTS, RAW, 0, IB_QP_CUR_STATE },

	{ IB_QPS_RTS, IB_QPS_SQD, ALL, 0, IB_QP_EN_SQD_ASYNC_NOTIFY },

	{ IB_QPS_SQD, IB_QPS_RTS, UC | INI, 0, LIVE },
	{ IB_QPS_SQD, IB_QPS_RTS, RC | TGT, 0, LIVE | IB_QP_MIN_RNR_TIMER },
	{ IB_QPS_SQD, IB_QPS_RTS, UD | SPECIAL | RD, 0, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ IB_QPS_SQD, IB_QPS_RTS, RAW, 0, IB_QP_CUR_STATE },

	{ IB_QPS_SQD, IB_QPS_SQD, UC, 0,
	  IB_QP_AV | MIGRATE | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
	{ IB_QPS_SQD, IB_QPS_SQD, RC, 0,
	  IB_QP_PORT | IB_QP_AV | RETRY | IB_QP_MAX_QP_RD_ATOMIC | RESPOND | MIGRATE |
		  IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
	{ IB_QPS_SQD, IB_QPS_SQD, INI, 0,
	  IB_QP_PORT | IB_QP_AV | RETRY | IB_QP_MAX_QP_RD_ATOMIC | MIGRATE | IB_QP_ACCESS_FLAGS |
		  IB_QP_PKEY_INDEX },
	{ IB_QPS_SQD, IB_QPS_SQD, TGT, 0,
	  IB_QP_PORT | IB_QP_AV | IB_QP_TIMEOUT | RESPOND | MIGRATE | IB_QP_ACCESS_FLAGS |
		  IB_QP_PKEY_INDEX },
	{ IB_QPS_SQD, IB_QPS_SQD, UD | SPECIAL, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ IB_QPS_SQD, IB_QPS_SQD, RD, 0, IB_QP_QKEY },

	/* an RC queue pair has no state SQE: its errors lead to the state Error */
	{ IB_QPS_SQE, IB_QPS_RTS, UC, 0, IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS },
	{ IB_QPS_SQE, IB_QPS_RTS, UD | SPECIAL | RD, 0, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ IB_QPS_SQE, IB_QPS_RTS, RAW, 0, IB_QP_CUR_STATE },
};

/* Writes the members of ib_qp_attr that a mask names. */
static const char *attr_names(uint32_t mask, char text[CI_TEXT_MAX])
{
	static const char *const names[] = {
#define NAME(name, bit, members) [bit] = members,
		IB_QP_ATTR_LIST(NAME)
	};
	size_t used = 0;

	for (size_t bit = 0; bit < sizeof(names) / sizeof(names[0]) && used < CI_TEXT_MAX; bit++)
		if (mask & 1u << bit)
			used += (size_t)snprintf(text + used, CI_TEXT_MAX - used, "%s%s",
						 used ? ", " : "", names[bit]);
	return text;
}

/* A mask without IB_QP_STATE changes no state, which its author may not have meant. */
static const char *state_hint(uint32_t mask)
{
	return mask & IB_QP_STATE ? ""
				  : "; the mask lacks IB_QP_STATE, so the state stays as it is";
}

/* Refuses a transition that the table has not, and names those that it has. */
static al_status refuse_transition(ib_qp_type type, ib_qp_state from, ib_qp_state to, uint32_t mask)
{
	char states[64] = "";

	if (to == from)
		return ib_refuse(AL_INVALID_TRANSITION,
				 "no attribute of %s queue pairs can change in the state %s%s",
				 al_qp_type_str(type), al_qp_state_str(from), state_hint(mask));
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].from == from && table[i].types & 1u << type && table[i].to != from) {
			strcat(states, al_qp_state_str(table[i].to));
			strcat(states, ", ");
		}
	return ib_refuse(
		AL_INVALID_TRANSITION,
		"%s queue pairs have no transition from %s to %s; from %s they go to %sReset or Error",
		al_qp_type_str(type), al_qp_state_str(from), al_qp_state_str(to),
		al_qp_state_str(from), states);
}

/* Refuses the attributes of a transition. what: the fault of those attributes. */
static al_status refuse_attributes(al_status status, ib_qp_type type, ib_qp_state from,
				   ib_qp_state to, uint32_t attributes, const char *what,
				   uint32_t mask)
{
	char text[CI_TEXT_MAX];

	return ib_refuse(status, "%s to %s of %s queue pairs %s %s%s", al_qp_state_str(from),
			 al_qp_state_str(to), al_qp_type_str(type), what,
			 attr_names(attributes, text), state_hint(mask));
}

#define LACKS "requires attributes that the mask lacks:"
#define TAKES "does not take attributes that the mask names:"

al_status qp_table_check(ib_qp_type type, ib_qp_state from, ib_qp_state to, uint32_t mask)
{
	uint32_t given = mask & ~(uint32_t)IB_QP_STATE;

	if ((unsigned int)to >= IB_QPS_COUNT)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "qp_state is %u, which is no state of queue pairs",
				 (unsigned int)to);
	/* Every state may change to Reset or Error, with IB_QP_STATE as the only attribute. Without
	 * IB_QP_STATE, "to" is the current state, and the table decides. */
	if (mask & IB_QP_STATE && (to == IB_QPS_RESET || to == IB_QPS_ERR))
		return given ? refuse_attributes(AL_INVALID_ATTRIBUTE, type, from, to, given, TAKES,
						 mask)
			     : AL_SUCCESS;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct transition *t = &table[i];

		if (t->from != from || t->to != to || !(t->types & 1u << type))
			continue;
		if (t->required & ~given)
			return refuse_attributes(AL_MISSING_ATTRIBUTE, type, from, to,
						 t->required & ~given, LACKS, mask);
		given &= ~(t->required | t->optional);
		return given ? refuse_attributes(AL_INVALID_ATTRIBUTE, type, from, to, given, TAKES,
						 mask)
			     : AL_SUCCESS;
	}
	return refuse_transition(type, from, to, mask);
}
