/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_flat_wr.h
 * @brief The flat work request: one layout without pointers, one packer, one checked reader.
 *
 * A work request that leaves the memory of its caller has this layout: in a record to the agent, in a ring that a
 * provider shares with its module, in a send or receive queue. Addresses, keys and paths take the place of pointers and
 * handles. A vendor may use the layout for the rings between a provider (ib_uvp.h) and a module (ib_hca.h). No function
 * here blocks, allocates or keeps a pointer.
 *
 * **Layout.** A send request is a head, struct ib_flat_send of 64 bytes, and a tail. A receive request is a head,
 * struct ib_flat_recv of 16 bytes, and a tail. The tail follows the head in a queue or ring; a record may have an array
 * of heads and an array of tails. A tail consists of units of 16 bytes, the size of a struct ib_sge. The tail of a send
 * request holds, in this order:
 * -# one unit with the masks, if the operation is a masked atomic;
 * -# the gather list, one unit for each element; or, with #IB_SEND_INLINE, the data itself, padded with zeroes to whole
 *    units.
 *
 * The tail of a receive request is the scatter list. Integers have the byte order of the machine: reader and writer run
 * on one machine.
 *
 * **Writing.** ib_flat_measure_send() refuses a request that has no flat form, and adds up its length.
 * ib_flat_tail_units() tells how long the tail will be. ib_flat_pack_send() then writes the head, and
 * ib_flat_pack_tail() the tail.
 *
 * **Reading.** ib_flat_read_send() checks a request in memory that the writer can no longer change, and makes a struct
 * ib_send_wr of it. A reader of shared memory copies the head, checks the copy by ib_flat_check_send(), copies as many
 * units as the head says, and checks the gather list by ib_flat_check_list(). The checks cover the form only. The
 * limits of a queue pair, the keys, and whether an operation suits the transport service are for the module to check.
 */
#ifndef IBA_IB_FLAT_WR_H
#define IBA_IB_FLAT_WR_H

#include <iba/ib_verbs.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IB_FLAT_UNIT 16u       /**< bytes of a unit of the tail */
#define IB_FLAT_MAX_SGE 65535u /**< elements of a gather list, at most */

/** Every bit of enum ib_send_flags. */
#define IB_FLAT_SEND_FLAGS (IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE)

/**
 * Where a datagram goes: the attributes of its address handle at the time of the post, and the destination's Q_Key. The
 * P_Key index and port of QP0 and QP1 (ib_send_wr.wr.ud) are not here, since no request of QP0 or QP1 leaves the
 * process.
 */
struct ib_flat_path {
	ib_gid dgid;           /**< destination; zero without a GRH */
	uint32_t grh_word;     /**< first word of the GRH: IP version 6, traffic class, flow label; 0: the datagram has
				* no GRH */
	uint32_t qkey;         /**< destination's Q_Key, as in ib_send_wr */
	uint16_t dlid;         /**< destination LID */
	uint8_t sgid_index;    /**< index of the source in the port's GID table, of 8 bits (IBTA 14.2.5.6, GUIDCap); 0
				* without a GRH */
	uint8_t hop_limit;     /**< of the GRH; 0 without */
	uint8_t sl;            /**< service level, 0 to 15 */
	uint8_t static_rate;   /**< enum ib_rate */
	uint8_t src_path_bits; /**< low bits of the source LID, 0 to 127 */
	uint8_t port_num;      /**< port to send from, from 1 */
};

/** The peer's memory, the operands of an atomic, and the peer's SRQ. What an operation does not use is zero. */
struct ib_flat_remote {
	uint64_t addr;        /**< address at the peer */
	uint64_t compare_add; /**< atomic: value to compare with, or to add */
	uint64_t swap;        /**< atomic: value to store when equal */
	uint32_t srqn;        /**< XRC: number of the destination SRQ */
	uint32_t zero;        /**< zero */
};

/** Head of a flat send request. The tail follows. */
struct ib_flat_send {
	uint64_t wr_id; /**< as in ib_send_wr */
	union {
		struct ib_flat_remote remote; /**< every request but a datagram */
		struct ib_flat_path path;     /**< datagrams: ib_flat_has_path() */
		uint64_t word[4];             /**< either */
	};
	uint32_t key;      /**< rkey; datagram: the destination's queue pair number; 0 where the operation needs
			    * neither */
	uint32_t ex;       /**< immediate data, or the key to invalidate */
	uint32_t length;   /**< bytes of the message: the sum of the gather list, or inline data */
	uint8_t opcode;    /**< ib_wr_opcode */
	uint8_t flags;     /**< enum ib_send_flags */
	uint16_t num_sge;  /**< elements of the gather list; 0 with #IB_SEND_INLINE */
	uint8_t holder[8]; /**< for the owner of a queue of such requests; zero on the way there. Aligned to 8 bytes */
};

/** Head of a flat receive request. The scatter list follows. */
struct ib_flat_recv {
	uint64_t wr_id;   /**< as in ib_recv_wr */
	uint32_t length;  /**< sum of the scatter list */
	uint32_t num_sge; /**< elements of the scatter list */
};

/** Masks of a masked atomic: the first unit of its tail. */
struct ib_flat_masks {
	uint64_t compare_add; /**< ib_send_wr.wr.atomic.compare_add_mask */
	uint64_t swap;        /**< ib_send_wr.wr.atomic.swap_mask */
};

/** What a send request says beside its gather list, by operation. */
enum ib_flat_form {
	IB_FLAT_NONE,   /**< there is no such operation, or its request names an object by a handle (bind, fast
			 * registration) */
	IB_FLAT_PLAIN,  /**< nothing, or the path of a datagram: sends, local invalidate */
	IB_FLAT_RDMA,   /**< address and key: writes, reads */
	IB_FLAT_ATOMIC, /**< address, key and operands: atomics */
	IB_FLAT_MASKED  /**< address, key, operands and masks: masked atomics */
};

/** The form of an operation. @param opcode ib_wr_opcode, or any other number @return enum ib_flat_form */
static inline enum ib_flat_form ib_flat_form_of(uint32_t opcode)
{
	switch (opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		return IB_FLAT_PLAIN;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return IB_FLAT_RDMA;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_FLAT_ATOMIC;
	case IB_WR_MASKED_CMP_AND_SWP:
	case IB_WR_MASKED_FETCH_AND_ADD:
		return IB_FLAT_MASKED;
	default:
		return IB_FLAT_NONE;
	}
}

/** Does the request hold a path? @param type of the queue pair @param opcode of the request @return 1: yes */
static inline int ib_flat_has_path(ib_qp_type type, uint32_t opcode)
{
	return type == IB_QPT_UD && ib_flat_form_of(opcode) == IB_FLAT_PLAIN;
}

/**
 * Length of a send request's tail.
 *
 * @param opcode  of the request
 * @param flags   of the request
 * @param num_sge of the request; does not count with #IB_SEND_INLINE
 * @param length  bytes of the message
 * @return units
 */
static inline uint32_t ib_flat_tail_units(uint32_t opcode, uint32_t flags, uint32_t num_sge, uint32_t length)
{
	uint32_t masks = ib_flat_form_of(opcode) == IB_FLAT_MASKED;

	return masks + (flags & IB_SEND_INLINE ? length / IB_FLAT_UNIT + (length % IB_FLAT_UNIT != 0) : num_sge);
}

/** Length of the tail of a packed request. @param head of the request @return units */
static inline uint32_t ib_flat_units(const struct ib_flat_send *head)
{
	return ib_flat_tail_units(head->opcode, head->flags, head->num_sge, head->length);
}

/** The tail that follows a head. @param head of a send request in a queue or ring @return the first unit */
static inline struct ib_sge *ib_flat_tail(struct ib_flat_send *head)
{
	return (struct ib_sge *)(void *)(head + 1);
}

/** The list that follows a head. @param head of a receive request in a queue or ring @return the first element */
static inline struct ib_sge *ib_flat_recv_list(struct ib_flat_recv *head)
{
	return (struct ib_sge *)(void *)(head + 1);
}

/* ------------------------------------------------------------------- paths */

/**
 * Packs the attributes of an address handle. The caller has checked their ranges (al_create_ah() does).
 *
 * @param to   written; the Q_Key is 0
 * @param attr attributes
 * @retval AL_INVALID_GID_INDEX grh.sgid_index is above 255
 */
static inline al_status ib_flat_pack_path(struct ib_flat_path *to, const struct ib_ah_attr *attr)
{
	memset(to, 0, sizeof(*to));
	to->dlid = attr->dlid;
	to->sl = attr->sl;
	to->static_rate = attr->static_rate;
	to->src_path_bits = attr->src_path_bits;
	to->port_num = attr->port_num;
	if (!attr->is_global)
		return AL_SUCCESS;
	if (attr->grh.sgid_index > 255)
		return AL_INVALID_GID_INDEX;
	to->dgid = attr->grh.dgid;
	to->grh_word = 6u << 28 | (uint32_t)attr->grh.traffic_class << 20 | attr->grh.flow_label;
	to->sgid_index = (uint8_t)attr->grh.sgid_index;
	to->hop_limit = attr->grh.hop_limit;
	return AL_SUCCESS;
}

/** The attributes of a path that has been checked. @param from path @param attr written */
static inline void ib_flat_unpack_path(const struct ib_flat_path *from, struct ib_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->grh.dgid = from->dgid;
	attr->grh.flow_label = from->grh_word & 0xfffff;
	attr->grh.sgid_index = from->sgid_index;
	attr->grh.hop_limit = from->hop_limit;
	attr->grh.traffic_class = (uint8_t)(from->grh_word >> 20);
	attr->dlid = from->dlid;
	attr->sl = from->sl;
	attr->src_path_bits = from->src_path_bits;
	attr->static_rate = from->static_rate;
	attr->port_num = from->port_num;
	attr->is_global = from->grh_word != 0;
}

/* ----------------------------------------------------------------- writing */

/**
 * Adds up the lengths of a list.
 *
 * @param list    elements
 * @param num_sge their number
 * @param length  written
 * @retval AL_INVALID_SGE the sum is 4 GiB or more
 */
static inline al_status ib_flat_sum(const struct ib_sge *list, uint32_t num_sge, uint32_t *length)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < num_sge; i++)
		sum += list[i].length;
	*length = (uint32_t)sum;
	return sum > UINT32_MAX ? AL_INVALID_SGE : AL_SUCCESS;
}

/**
 * Has a send request a flat form? Adds up its length.
 *
 * @param wr     request
 * @param type   of the queue pair
 * @param most   elements that its list may have, up to #IB_FLAT_MAX_SGE
 * @param length written: bytes of the message
 * @retval AL_INVALID_OPCODE there is no such operation or flag
 * @retval AL_UNSUPPORTED    the request names an object by a handle (bind, fast registration), or the queue pair's type
 *         is RD
 * @retval AL_INVALID_SGE    the list is too long, there is none, or the lengths overflow
 */
static inline al_status ib_flat_measure_send(const struct ib_send_wr *wr, ib_qp_type type, uint32_t most, uint32_t *length)
{
	if ((uint32_t)wr->opcode >= IB_WR_OPCODES || wr->send_flags & ~(uint32_t)IB_FLAT_SEND_FLAGS)
		return AL_INVALID_OPCODE;
	if (ib_flat_form_of(wr->opcode) == IB_FLAT_NONE || type == IB_QPT_RD)
		return AL_UNSUPPORTED;
	if (wr->num_sge > most || (wr->num_sge && !wr->sg_list))
		return AL_INVALID_SGE;
	return ib_flat_sum(wr->sg_list, wr->num_sge, length);
}

/**
 * Writes the head of a send request that ib_flat_measure_send() takes.
 *
 * @param to     written
 * @param wr     request
 * @param length bytes of the message
 * @param type   of the queue pair
 * @param path   of the address handle, when ib_flat_has_path(); else not read
 */
static inline void ib_flat_pack_send(struct ib_flat_send *to, const struct ib_send_wr *wr, uint32_t length, ib_qp_type type,
				     const struct ib_flat_path *path)
{
	enum ib_flat_form form = ib_flat_form_of(wr->opcode);

	to->wr_id = wr->wr_id;
	if (form >= IB_FLAT_ATOMIC) {
		to->remote.addr = wr->wr.atomic.remote_addr;
		to->remote.compare_add = wr->wr.atomic.compare_add;
		to->remote.swap = wr->wr.atomic.swap;
		to->word[3] = 0;
		to->key = wr->wr.atomic.rkey;
	} else if (form == IB_FLAT_RDMA) {
		to->remote.addr = wr->wr.rdma.remote_addr;
		to->word[1] = to->word[2] = to->word[3] = 0;
		to->key = wr->wr.rdma.rkey;
	} else if (type == IB_QPT_UD) {
		to->path = *path;
		to->path.qkey = wr->wr.ud.remote_qkey;
		to->key = wr->wr.ud.remote_qpn;
	} else {
		to->word[0] = to->word[1] = to->word[2] = to->word[3] = 0;
		to->key = 0;
	}
	if (type == IB_QPT_XRC_INI)
		to->remote.srqn = wr->remote_srqn;
	to->ex = wr->ex.imm_data;
	to->length = length;
	to->opcode = (uint8_t)wr->opcode;
	to->flags = (uint8_t)wr->send_flags;
	to->num_sge = wr->send_flags & IB_SEND_INLINE ? 0 : (uint16_t)wr->num_sge;
	memset(to->holder, 0, sizeof(to->holder));
}

/**
 * Writes the tail of a send request, and copies inline data from the caller's memory.
 *
 * @param head of the request, packed
 * @param tail written: ib_flat_units() of the head
 * @param wr   request
 */
static inline void ib_flat_pack_tail(const struct ib_flat_send *head, struct ib_sge *tail, const struct ib_send_wr *wr)
{
	struct ib_flat_masks masks;
	char *data;
	uint32_t i;

	if (ib_flat_form_of(head->opcode) == IB_FLAT_MASKED) {
		masks.compare_add = wr->wr.atomic.compare_add_mask;
		masks.swap = wr->wr.atomic.swap_mask;
		memcpy(tail++, &masks, sizeof(masks));
	}
	if (!(head->flags & IB_SEND_INLINE)) {
		for (i = 0; i < head->num_sge; i++)
			tail[i] = wr->sg_list[i];
		return;
	}
	if (head->length % IB_FLAT_UNIT)
		memset(&tail[head->length / IB_FLAT_UNIT], 0, IB_FLAT_UNIT);
	data = (char *)tail;
	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length)
			memcpy(data, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		data += wr->sg_list[i].length;
	}
}

/**
 * Writes a receive request and its scatter list.
 *
 * @param to     written
 * @param list   written: elements of the request
 * @param wr     request
 * @param length sum of its list, by ib_flat_sum()
 */
static inline void ib_flat_pack_recv(struct ib_flat_recv *to, struct ib_sge *list, const struct ib_recv_wr *wr, uint32_t length)
{
	uint32_t i;

	to->wr_id = wr->wr_id;
	to->length = length;
	to->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++)
		list[i] = wr->sg_list[i];
}

/* ----------------------------------------------------------------- reading */

/**
 * Is it a path? Ports, GIDs and LIDs of an HCA are for its module to compare.
 *
 * @param path copy that the writer can not change
 * @retval AL_INVALID_PARAMETER a field is out of its range, or not zero without a GRH
 */
static inline al_status ib_flat_check_path(const struct ib_flat_path *path)
{
	uint64_t dgid[2];

	if (path->sl > 15 || path->src_path_bits > 127 || !path->port_num)
		return AL_INVALID_PARAMETER;
	if (path->grh_word >> 28 == 6)
		return AL_SUCCESS;
	memcpy(dgid, &path->dgid, sizeof(dgid));
	return path->grh_word || dgid[0] || dgid[1] || path->sgid_index || path->hop_limit ? AL_INVALID_PARAMETER : AL_SUCCESS;
}

/**
 * Is all zero that a request without a path has no use for? @param from head @param type of the queue pair @return 1:
 * yes
 */
static inline int ib_flat_unused_is_zero(const struct ib_flat_send *from, ib_qp_type type)
{
	static const uint8_t used[] = { 0, 0, 1, 3, 3 }; /* words, by form */
	enum ib_flat_form form = ib_flat_form_of(from->opcode);
	uint64_t rest = type == IB_QPT_XRC_INI ? from->remote.zero : from->word[3];
	uint32_t i;

	for (i = used[form]; i < 3; i++)
		rest |= from->word[i];
	if (form == IB_FLAT_PLAIN)
		rest |= from->key;
	return !rest;
}

/**
 * Checks the head of a send request that another process has written.
 *
 * @param from copy that the writer can not change
 * @param type of the queue pair
 * @param room units that its tail may have
 * @retval AL_INVALID_OPCODE    there is no such operation or flag, or the operation has no flat form
 * @retval AL_INVALID_SGE       the tail is longer than the room, or a request with inline data has a list
 * @retval AL_INVALID_PARAMETER a reserved or unused field is not zero, or ib_flat_check_path() refuses the path
 */
static inline al_status ib_flat_check_send(const struct ib_flat_send *from, ib_qp_type type, uint32_t room)
{
	uint64_t holder;

	if (ib_flat_form_of(from->opcode) == IB_FLAT_NONE || from->flags & ~(uint32_t)IB_FLAT_SEND_FLAGS)
		return AL_INVALID_OPCODE;
	if (from->flags & IB_SEND_INLINE && from->num_sge)
		return AL_INVALID_SGE;
	if (ib_flat_units(from) > room)
		return AL_INVALID_SGE;
	memcpy(&holder, from->holder, sizeof(holder));
	if (holder)
		return AL_INVALID_PARAMETER;
	if (ib_flat_has_path(type, from->opcode))
		return ib_flat_check_path(&from->path);
	return ib_flat_unused_is_zero(from, type) ? AL_SUCCESS : AL_INVALID_PARAMETER;
}

/**
 * Checks a list against the length that the head says.
 *
 * @param list    copy that the writer can not change
 * @param num_sge its elements
 * @param length  that their lengths must add up to
 * @retval AL_INVALID_SGE they do not
 */
static inline al_status ib_flat_check_list(const struct ib_sge *list, uint32_t num_sge, uint32_t length)
{
	uint32_t sum;

	return ib_flat_sum(list, num_sge, &sum) || sum != length ? AL_INVALID_SGE : AL_SUCCESS;
}

/**
 * Makes a send request of a flat one that has been checked. The address handle of a datagram is NULL: the reader makes
 * one of the path.
 *
 * @param from head
 * @param tail of the request; the list of the request points into it
 * @param type of the queue pair
 * @param wr   written
 * @param data with inline data: written, and the list of the request
 */
static inline void ib_flat_unpack_send(const struct ib_flat_send *from, const struct ib_sge *tail, ib_qp_type type,
				       struct ib_send_wr *wr, struct ib_sge *data)
{
	enum ib_flat_form form = ib_flat_form_of(from->opcode);
	struct ib_flat_masks masks;

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = from->wr_id;
	wr->num_sge = from->num_sge;
	wr->opcode = (ib_wr_opcode)from->opcode;
	wr->send_flags = from->flags;
	wr->ex.imm_data = from->ex;
	if (form >= IB_FLAT_ATOMIC) {
		wr->wr.atomic.remote_addr = from->remote.addr;
		wr->wr.atomic.compare_add = from->remote.compare_add;
		wr->wr.atomic.swap = from->remote.swap;
		wr->wr.atomic.rkey = from->key;
	} else if (form == IB_FLAT_RDMA) {
		wr->wr.rdma.remote_addr = from->remote.addr;
		wr->wr.rdma.rkey = from->key;
	} else if (type == IB_QPT_UD) {
		wr->wr.ud.remote_qpn = from->key;
		wr->wr.ud.remote_qkey = from->path.qkey;
	}
	if (type == IB_QPT_XRC_INI)
		wr->remote_srqn = from->remote.srqn;
	if (form == IB_FLAT_MASKED) {
		memcpy(&masks, tail++, sizeof(masks));
		wr->wr.atomic.compare_add_mask = masks.compare_add;
		wr->wr.atomic.swap_mask = masks.swap;
	}
	wr->sg_list = tail;
	if (!(from->flags & IB_SEND_INLINE))
		return;
	data->addr = (uintptr_t)tail;
	data->length = from->length;
	data->lkey = 0;
	wr->sg_list = data;
	wr->num_sge = from->length != 0;
}

/**
 * Reads a send request in memory that the writer can not change.
 *
 * @param from head
 * @param tail of the request
 * @param room units that there are at tail
 * @param type of the queue pair
 * @param wr   written, as by ib_flat_unpack_send()
 * @param data with inline data: written, and the list of the request
 * @retval AL_INVALID_OPCODE, AL_INVALID_PARAMETER as by ib_flat_check_send()
 * @retval AL_INVALID_SGE as by ib_flat_check_send() and ib_flat_check_list()
 */
static inline al_status ib_flat_read_send(const struct ib_flat_send *from, const struct ib_sge *tail, uint32_t room,
					  ib_qp_type type, struct ib_send_wr *wr, struct ib_sge *data)
{
	al_status status = ib_flat_check_send(from, type, room);

	if (status)
		return status;
	ib_flat_unpack_send(from, tail, type, wr, data);
	return from->flags & IB_SEND_INLINE ? AL_SUCCESS : ib_flat_check_list(wr->sg_list, from->num_sge, from->length);
}

/**
 * Reads a receive request in memory that the writer can not change.
 *
 * @param from head
 * @param list of the request
 * @param room elements that there are at list
 * @param wr   written; its list is list
 * @retval AL_INVALID_SGE the list is longer than the room, or does not add up to its length
 */
static inline al_status ib_flat_read_recv(const struct ib_flat_recv *from, const struct ib_sge *list, uint32_t room,
					  struct ib_recv_wr *wr)
{
	if (from->num_sge > room)
		return AL_INVALID_SGE;
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = from->wr_id;
	wr->sg_list = list;
	wr->num_sge = from->num_sge;
	return ib_flat_check_list(list, from->num_sge, from->length);
}

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_FLAT_WR_H */
