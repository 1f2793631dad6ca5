/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Extended polling: the program reads the members of one completion after the other. */
#include <arpa/inet.h>

#include "al/compat/verbs/verbs.h"

static struct cq *of(struct ibv_cq_ex *ex)
{
	return verbs_of(ex, struct cq, ex);
}

/* The completion that start_poll() or next_poll() has reached. */
static const struct ib_wc *current(struct ibv_cq_ex *ex)
{
	return &of(ex)->wc[of(ex)->next_wc - 1];
}

/* Goes to the next completion. 0, ENOENT: there is none, or another errno. */
static int advance(struct cq *cq)
{
	const uint32_t room = sizeof(cq->wc) / sizeof(cq->wc[0]);
	al_status status;

	if (cq->next_wc == cq->num_wc) {
		cq->next_wc = cq->num_wc = 0;
		status = al_poll_cq_ex(cq->al, room, cq->wc, &cq->num_wc);
		if (status)
			return verbs_errno(status);
		if (!cq->num_wc)
			return ENOENT;
	}
	cq->next_wc++;
	cq->ex.wr_id = current(&cq->ex)->wr_id;
	cq->ex.status = wc_status_from_al(current(&cq->ex)->status);
	return 0;
}

static void unlock(struct cq *cq)
{
	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->poll_lock);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct cq *cq = of(ex);
	int error;

	if (attr && attr->comp_mask)
		return EINVAL;
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->poll_lock);
	error = advance(cq);
	if (error)
		unlock(cq); /* a program does not call end_poll() after a failure */
	return error;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return advance(of(ex));
}

static void end_poll(struct ibv_cq_ex *ex)
{
	unlock(of(ex));
}

static unsigned int read_opcode(struct ibv_cq_ex *ex)
{
	return wc_opcode_from_al(current(ex)->opcode);
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return current(ex)->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return current(ex)->byte_len;
}

static be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return htonl(current(ex)->imm_data);
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return current(ex)->qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return current(ex)->src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return wc_flags_from_al(current(ex)->wc_flags);
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return current(ex)->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return wc_sl_from_al(current(ex));
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return current(ex)->dlid_path_bits;
}

struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
	const uint32_t masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	const uint32_t flags = init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? init->flags : 0;
	struct cq *cq;

	if (init->comp_mask & ~masks || init->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS ||
	    flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cq = cq_create(context_of(context), init);
	if (!cq)
		return NULL;
	cq->single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->ex.start_poll = start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
	cq->ex.read_opcode = read_opcode;
	cq->ex.read_vendor_err = read_vendor_err;
	cq->ex.read_byte_len = read_byte_len;
	cq->ex.read_imm_data = read_imm_data;
	cq->ex.read_qp_num = read_qp_num;
	cq->ex.read_src_qp = read_src_qp;
	cq->ex.read_wc_flags = read_wc_flags;
	cq->ex.read_slid = read_slid;
	cq->ex.read_sl = read_sl;
	cq->ex.read_dlid_path_bits = read_dlid_path_bits;
	return &cq->ex;
}
