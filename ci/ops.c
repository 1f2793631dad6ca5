/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables of operations made from ci/ops.def: the defaults for operations that a module lacks, the
 * tables of a removed HCA and of a lost agent's HCA; and the check of a module's table at its
 * registration. Attributes of the HCA are checked in ci/attr_check.c.
 */
#include <limits.h>
#include <string.h>

#include "ci/internal.h"

enum op {
#define OP(name, ...) OP_##name,
#include "ci/ops.def"
	OPS,
	REQUIRED,
	OF_HCAS,
	OF_SWITCHES,
	OPTIONAL,
};
#define WITH(op) OP_##op

/* Assert that the rows of ops.def and the operations of struct ci_interface have equal order,
 * number and types. */
#define OPS_AT offsetof(struct ci_interface, open_ca)
#define OP_SIZE sizeof(void (*)(void))
#define OP(name, kind, need, mark, group, way, said, params)                                      \
	_Static_assert(offsetof(struct ci_interface, name) == OPS_AT + OP_##name * OP_SIZE,       \
		       "ops.def: the row " #name " is not in the order of struct ci_interface");  \
	_Static_assert(                                                                           \
		__builtin_types_compatible_p(__typeof__(((struct ci_interface *)0)->name),        \
					     RETURNS(kind)(*)(PARAMS(params) UDATA_PARAM(said))), \
		"ops.def: " #name " has other parameters in struct ci_interface");
#include "ci/ops.def"
_Static_assert(sizeof(struct ci_interface) == OPS_AT + OPS * OP_SIZE,
	       "ops.def: struct ci_interface has more members");

/* Assert that the ATOMIC rows and enum ci_atomic_op have equal order and number. */
enum atomic_row {
#define ROW_SLEEPS(name)
#define ROW_ATOMIC(name) ROW_##name,
#define OP(name, kind, need, mark, ...) ROW_##mark(name)
#include "ci/ops.def"
	ATOMIC_ROWS
};
#define SAME_SLEEPS(name)
#define SAME_ATOMIC(name)                                        \
	_Static_assert((int)ROW_##name == (int)CI_ATOMIC_##name, \
		       "ops.def: " #name " has another place in enum ci_atomic_op");
#define OP(name, kind, need, mark, ...) SAME_##mark(name)
#include "ci/ops.def"
_Static_assert(
	(int)ATOMIC_ROWS == (int)CI_ATOMIC_OPS && CI_ATOMIC_OPS < 64,
	"ops.def: enum ci_atomic_op has more members, or ci_interface.may_block too few bits");

/* The functions below do not use their parameters, which have names for the reader of ops.def. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Define for each operation default_NAME(), which replaces a missing operation, removed_NAME() for
 * a removed HCA, and lost_NAME() for a lost agent's HCA. */
#define OP(name, kind, need, mark, group, way, said, params) \
	BY_KIND(REFUSE_, kind)(name, PARAMS(params) UDATA_PARAM(said))
#define REFUSE_CHANGES(name, ...) \
	static al_status default_##name(__VA_ARGS__) \
	{ \
		return AL_UNSUPPORTED; \
	} \
	static al_status removed_##name(__VA_ARGS__) \
	{ \
		return AL_CA_REMOVED; \
	} \
	static al_status lost_##name(__VA_ARGS__) \
	{ \
		return AL_AGENT_LOST; \
	}
#define REFUSE_CREATES REFUSE_CHANGES
#define REFUSE_POSTS(name, ...) \
	static al_status default_##name(__VA_ARGS__) \
	{ \
		*bad = wr; \
		return AL_UNSUPPORTED; \
	} \
	static al_status removed_##name(__VA_ARGS__) \
	{ \
		*bad = wr; \
		return AL_CA_REMOVED; \
	} \
	static al_status lost_##name(__VA_ARGS__) \
	{ \
		*bad = wr; \
		return AL_AGENT_LOST; \
	}
#define REFUSE_ENDS(name, ...) \
	static void default_##name(__VA_ARGS__) \
	{ \
	}
#define REFUSE_DMA(...)
#include "ci/ops.def"

/* --------------------------- DMA without an IOMMU: addresses are the process' own */

static uint64_t default_dma_map_single(struct ci_ca *ca, void *addr, uint64_t length,
				       ib_dma_direction dir)
{
	return (uintptr_t)addr;
}

static void default_dma_unmap_single(struct ci_ca *ca, uint64_t dma, uint64_t length,
				     ib_dma_direction dir)
{
}

static uint32_t default_dma_map_sg(struct ci_ca *ca, struct ib_dma_sg *sg, uint32_t num,
				   ib_dma_direction dir)
{
	for (uint32_t i = 0; i < num; i++) {
		sg[i].dma_address = (uintptr_t)sg[i].addr;
		sg[i].dma_length = sg[i].length;
	}
	return num;
}

static void default_dma_unmap_sg(struct ci_ca *ca, struct ib_dma_sg *sg, uint32_t num,
				 ib_dma_direction dir)
{
}

static bool default_dma_mapping_error(struct ci_ca *ca, uint64_t dma)
{
	return false;
}

static void default_dma_sync_for_cpu(struct ci_ca *ca, uint64_t dma, uint64_t length,
				     ib_dma_direction dir)
{
}

static void default_dma_sync_for_device(struct ci_ca *ca, uint64_t dma, uint64_t length,
					ib_dma_direction dir)
{
}

static void *default_dma_alloc_coherent(struct ci_ca *ca, uint64_t length, uint64_t *dma)
{
	/* Whole pages: a device that maps the memory must not see other data of the process on its
	 * pages. */
	void *mem = al_alloc_aligned(4096, length);

	if (mem)
		*dma = (uintptr_t)mem;
	return mem;
}

static void default_dma_free_coherent(struct ci_ca *ca, uint64_t length, void *addr, uint64_t dma)
{
	al_free(addr);
}

/* ------------------------------- DMA of a removed HCA: every mapping fails */

#define NOWHERE UINT64_MAX /* the address that dead_dma_mapping_error() reports as failed */

static uint64_t dead_dma_map_single(struct ci_ca *ca, void *addr, uint64_t length,
				    ib_dma_direction dir)
{
	return NOWHERE;
}

static uint32_t dead_dma_map_sg(struct ci_ca *ca, struct ib_dma_sg *sg, uint32_t num,
				ib_dma_direction dir)
{
	return 0;
}

static bool dead_dma_mapping_error(struct ci_ca *ca, uint64_t dma)
{
	return dma == NOWHERE;
}

static void *dead_dma_alloc_coherent(struct ci_ca *ca, uint64_t length, uint64_t *dma)
{
	return NULL;
}

static void dead_dma_free_coherent(struct ci_ca *ca, uint64_t length, void *addr, uint64_t dma)
{
}

#pragma GCC diagnostic pop

#define dead_dma_unmap_single default_dma_unmap_single
#define dead_dma_unmap_sg default_dma_unmap_sg
#define dead_dma_sync_for_cpu default_dma_sync_for_cpu
#define dead_dma_sync_for_device default_dma_sync_for_device

/* ------------------------------------------------------------------ the tables */

#define HEAD \
	.size = sizeof(struct ci_interface), .abi_major = CI_ABI_MAJOR, .abi_minor = CI_ABI_MINOR

const struct ci_interface ci_default_ops = {
	HEAD,
#define OP(name, ...) .name = default_##name,
#include "ci/ops.def"
};

/* An operation of the kind ENDS can not fail, and does nothing for a removed HCA. */
#define DEAD(status, name, kind) .name = BY_KIND(DEAD_, kind)(status, name),
#define DEAD_CREATES(status, name) status##_##name
#define DEAD_CHANGES(status, name) status##_##name
#define DEAD_POSTS(status, name) status##_##name
#define DEAD_ENDS(status, name) default_##name
#define DEAD_DMA(status, name) dead_##name

const struct ci_interface ci_dead_ca = {
	HEAD,
#define OP(name, kind, ...) DEAD(removed, name, kind)
#include "ci/ops.def"
};

const struct ci_interface ci_dead_agent = {
	HEAD,
#define OP(name, kind, ...) DEAD(lost, name, kind)
#include "ci/ops.def"
};

/* ------------------------------------------------------------------- the check */

static const struct {
	const char *name;
	int need; /* REQUIRED to OPTIONAL, or the operation with which it is required */
} op_table[OPS] = {
#define OP(name, kind, need, ...) { #name, need },
#include "ci/ops.def"
};

static const struct {
	const char *name;
	size_t size;
} base_structs[CI_OBJ_KINDS] = {
	/* the structs with which a module's structs begin */
	[CI_OBJ_CA] = { "ci_ca", sizeof(struct ci_ca) },
	[CI_OBJ_PD] = { "ci_pd", sizeof(struct ci_pd) },
	[CI_OBJ_RDD] = { "ci_rdd", sizeof(struct ci_rdd) },
	[CI_OBJ_XRCD] = { "ci_xrcd", sizeof(struct ci_xrcd) },
	[CI_OBJ_AH] = { "ci_ah", sizeof(struct ci_ah) },
	[CI_OBJ_MR] = { "ci_mr", sizeof(struct ci_mr) },
	[CI_OBJ_FMR] = { "ci_fmr", sizeof(struct ci_fmr) },
	[CI_OBJ_MW] = { "ci_mw", sizeof(struct ci_mw) },
	[CI_OBJ_CQ] = { "ci_cq", sizeof(struct ci_cq) },
	[CI_OBJ_SRQ] = { "ci_srq", sizeof(struct ci_srq) },
	[CI_OBJ_QP] = { "ci_qp", sizeof(struct ci_qp) },
	[CI_OBJ_EEC] = { "ci_eec", sizeof(struct ci_eec) },
};

#define KNOWN_FLAGS ((uint32_t)(CI_SERIALISE_CQ | CI_CLIENT_MEMORY))
#define ATOMIC_BITS (((uint64_t)1 << CI_ATOMIC_OPS) - 1)

size_t ci_obj_bytes(const struct ci_interface *ops, enum ci_obj kind)
{
	return ops->obj_size[kind] ? ops->obj_size[kind] : base_structs[kind].size;
}

/*
 * The address of operation op in a table. The operations have different types, so they are compared
 * and copied as bytes.
 */
static char *op_at(struct ci_interface *ops, int op)
{
	return (char *)ops + OPS_AT + (size_t)op * OP_SIZE;
}

static bool op_missing(struct ci_interface *ops, int op)
{
	static const char null[OP_SIZE];

	return !memcmp(op_at(ops, op), null, OP_SIZE);
}

static al_status check_abi(const struct ci_interface *ci, char text[CI_TEXT_MAX])
{
	if (ci->abi_major != CI_ABI_MAJOR) {
		ci_set_text(
			text,
			"ci_interface has ABI %u.%u and this library has %u.%u: rebuild the module",
			ci->abi_major, ci->abi_minor, CI_ABI_MAJOR, CI_ABI_MINOR);
		return AL_MODULE_ABI;
	}
	/* The size must end after a whole operation. The members before the first operation exist
	 * in every version. */
	if (ci->size < OPS_AT || (ci->size - OPS_AT) % OP_SIZE) {
		ci_set_text(
			text,
			"ci_interface.size is %u, and %zu or more in steps of %zu are possible (this library's is %zu): "
			"set the size to sizeof(struct ci_interface)",
			ci->size, OPS_AT, OP_SIZE, sizeof(struct ci_interface));
		return AL_MODULE_ABI;
	}
	return AL_SUCCESS;
}

al_status ci_obj_sizes_check(const char *table, const uint32_t obj_size[CI_OBJ_KINDS],
			     char text[CI_TEXT_MAX])
{
	for (size_t i = 0; i < CI_OBJ_KINDS; i++) {
		if (!obj_size[i] || obj_size[i] >= base_structs[i].size)
			continue;
		ci_set_text(
			text,
			"%s.obj_size for struct %s is %u and the struct alone has %zu bytes: set the size of "
			"the module's struct, or 0",
			table, base_structs[i].name, obj_size[i], base_structs[i].size);
		return AL_INVALID_PARAMETER;
	}
	return AL_SUCCESS;
}

static al_status check_head(const struct ci_interface *ci, char text[CI_TEXT_MAX])
{
	if (ci->flags & ~KNOWN_FLAGS) {
		ci_set_text(
			text,
			"ci_interface.flags is 0x%x and this library knows 0x%x: clear the other bits",
			ci->flags, KNOWN_FLAGS);
		return AL_INVALID_PARAMETER;
	}
	if (ci->may_block & ~ATOMIC_BITS) {
		ci_set_text(
			text,
			"ci_interface.may_block has 0x%llx, which is no atomic operation's bit: use CI_MAY_BLOCK(op) alone",
			(unsigned long long)(ci->may_block & ~ATOMIC_BITS));
		return AL_INVALID_PARAMETER;
	}
	if (ci->pad) {
		ci_set_text(text, "ci_interface.pad is %u and must be 0", ci->pad);
		return AL_INVALID_PARAMETER;
	}
	return ci_obj_sizes_check("ci_interface", ci->obj_size, text);
}

static al_status missing_op(int op, char text[CI_TEXT_MAX])
{
	ci_set_text(text, "the required operation %s is NULL: implement the operation",
		    op_table[op].name);
	return AL_MODULE_MISSING_OP;
}

static al_status check_needs(struct ci_interface *ops, char text[CI_TEXT_MAX])
{
	for (int op = 0; op < OPS; op++) {
		int need = op_table[op].need;

		if (!op_missing(ops, op))
			continue;
		if (need == REQUIRED)
			return missing_op(op, text);
		if (need >= OPS || op_missing(ops, need))
			continue;
		ci_set_text(text,
			    "the table has %s without %s: implement both operations, or neither",
			    op_table[need].name, op_table[op].name);
		return AL_MODULE_MISSING_OP;
	}
	return AL_SUCCESS;
}

al_status ci_ops_complete(const struct ci_interface *ci, struct ci_interface *ops,
			  char text[CI_TEXT_MAX])
{
	al_status st;

	st = check_abi(ci, text);
	if (st)
		return st;
	st = check_head(ci, text);
	if (st)
		return st;

	/*
	 * A shorter table, of an older module, lacks the last operations. A longer table has
	 * operations that this library never calls.
	 */
	memset(ops, 0, sizeof(*ops));
	memcpy(ops, ci, ci->size < sizeof(*ops) ? ci->size : sizeof(*ops));
	ops->size = sizeof(*ops);
	st = check_needs(ops, text);
	if (st)
		return st;

	for (int op = 0; op < OPS; op++)
		if (op_missing(ops, op))
			memcpy(op_at(ops, op),
			       (const char *)&ci_default_ops + OPS_AT + (size_t)op * OP_SIZE,
			       OP_SIZE);
	return AL_SUCCESS;
}

al_status ci_ops_suit(const struct ci_interface *ci, ib_node_type type, char text[CI_TEXT_MAX])
{
	const int need = type == IB_NODE_SWITCH ? OF_SWITCHES : OF_HCAS;
	struct ci_interface ops = { 0 };

	memcpy(&ops, ci, ci->size < sizeof(ops) ? ci->size : sizeof(ops));
	for (int op = 0; op < OPS; op++)
		if (op_table[op].need == need && op_missing(&ops, op))
			return missing_op(op, text);
	return AL_SUCCESS;
}
