/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * struct soft_hca, and the operations of this folder's files, which module/ puts into the operation table. The parts
 * of an HCA (engine, memory, ports) are in folders of their own.
 */
#ifndef SOFT_HCA_H
#define SOFT_HCA_H

#include <pthread.h>
#include <iba/ib_soft.h>

#include "hca/soft/base/alloc.h"
#include "hca/soft/base/config.h"
#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/transport/ah.h"
#include "hca/soft/transport/qp.h"

struct fabric_switch;
struct faults;
struct rings;

/* An HCA, or a switch of a managed topology. */
struct soft_hca {
	struct engine
		*engine; /* runs the queue pairs; NULL: hca_create() was not called for this HCA */
	struct fabric_switch *sw; /* the switch; NULL: an HCA */
	struct table qps;
	struct actor *special; /* actors of the special queue pairs, SPECIAL_QPS for each port */
	struct memory memory;
	struct ports ports;
	struct alloc_gate alloc;

	struct faults *faults;   /* fault rules (lab/) */
	struct rings *rings;     /* rings of clients, and their thread (client/) */

	ci_handle handle;
	bool registered;         /* registered, and no thread withdraws the HCA; guarded by the module's lock */
	uint32_t index;
	uint64_t guid;
	struct hca_config conf;
	struct ib_ca_attr attr;
	_Atomic uint32_t cqs_made; /* completion queues created so far */
	/* Withdraws the HCA; flags: enum ci_deregister_flags. */
	al_status (*remove)(struct soft_hca *hca, uint32_t flags);
};

static inline struct soft_hca *ca_hca(const struct ci_ca *ca)
{
	return ca->hca;
}

static inline struct soft_hca *pd_hca(const struct ci_pd *pd)
{
	return pd->ca->hca;
}

static inline struct soft_hca *qp_hca(const struct soft_qp *qp)
{
	return pd_hca(qp->ci.pd);
}

static inline struct soft_hca *port_hca(const struct soft_port *port)
{
	return (struct soft_hca *)((char *)port->ports - offsetof(struct soft_hca, ports));
}

static inline struct soft_port *hca_port(const struct soft_hca *hca, uint8_t num)
{
	return &hca->ports.port[num - hca->ports.first];
}

/* Sets the address in packets' headers from an address vector. */
void address_set(struct address *to, const struct ib_ah_attr *attr);
/* Checks that the port has the GID and path bits that an address vector names. */
al_status ah_check(const struct soft_port *port, const struct ib_ah_attr *attr);

/*
 * Operations: device.c, port.c, mr.c, ah.c, cq.c, qp.c, post.c, mcast.c. ci_ops says the contract
 * of each (include/iba/ib_hca.h).
 */
al_status soft_open_ca(struct ci_ca *ca);
void soft_close_ca(struct ci_ca *ca);
al_status soft_query_ca(struct ci_ca *ca, struct ib_ca_attr *attr);
al_status soft_query_port(struct ci_ca *ca, uint8_t num, struct ib_port_attr *attr);
al_status soft_query_gid(struct ci_ca *ca, uint8_t num, uint32_t index, ib_gid *gid);
al_status soft_query_pkey(struct ci_ca *ca, uint8_t num, uint32_t index, uint16_t *pkey);
al_status soft_local_mad(struct ci_ca *ca, uint8_t num, const struct ib_ah_attr *src,
			 const struct ci_local_mad_in *in, struct ci_local_mad_out *out);
al_status soft_modify_port(struct ci_ca *ca, uint8_t num, uint32_t mask, const struct ib_port_modify *attr);
al_status soft_allocate_pd(struct ci_pd *pd, struct ci_udata *udata);
void soft_deallocate_pd(struct ci_pd *pd);
al_status soft_register_mr(struct ci_mr *mr, const struct ci_mem *mem, struct ci_udata *udata);
void soft_deregister_mr(struct ci_mr *mr);
void soft_revoke_mr(struct ci_mr *mr);
al_status soft_query_mr(struct ci_mr *mr, struct ib_mr_attr *attr);
al_status soft_create_ah(struct ci_ah *ah, const struct ib_ah_attr *attr, struct ci_udata *udata);
al_status soft_modify_ah(struct ci_ah *ah, const struct ib_ah_attr *attr);
al_status soft_query_ah(struct ci_ah *ah, struct ib_ah_attr *attr);
void soft_destroy_ah(struct ci_ah *ah);
al_status soft_create_cq(struct ci_cq *cq, struct ci_cq_init *init, struct ci_udata *udata);
void soft_destroy_cq(struct ci_cq *cq);
al_status soft_poll_cq(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
al_status soft_arm_cq(struct ci_cq *cq, al_arm type, bool *present);
al_status soft_arm_cq_n(struct ci_cq *cq, uint32_t num);
al_status soft_peek_cq(struct ci_cq *cq, uint32_t max, uint32_t *count);
al_status soft_resize_cq(struct ci_cq *cq, uint32_t *cqe, struct ci_udata *udata);
al_status soft_modify_cq(struct ci_cq *cq, uint16_t count, uint16_t period);
al_status soft_query_cq(struct ci_cq *cq, struct al_cq_attr *attr);
al_status soft_create_qp(struct ci_qp *qp, struct ci_qp_init *init, struct ci_udata *udata);
al_status soft_modify_qp(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask,
			 struct ci_udata *udata);
al_status soft_query_qp(struct ci_qp *qp, struct ib_qp_attr *attr);
al_status soft_create_spl_qp(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
			     struct ci_udata *udata);
void soft_destroy_qp(struct ci_qp *qp);
al_status soft_attach_mcast(struct ci_qp *qp, const ib_gid *mgid, uint16_t mlid);
al_status soft_detach_mcast(struct ci_qp *qp, const ib_gid *mgid, uint16_t mlid);
al_status soft_post_send(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
al_status soft_post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

#endif
