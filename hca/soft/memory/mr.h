/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory: regions, what a key names, and copies between lists of pieces (mr.c). */
#ifndef SOFT_MR_H
#define SOFT_MR_H

#include <stdatomic.h>
#include <iba/ib_hca.h>

#include "hca/soft/base/table.h"


#define MR_LIVE 0x80000000u

/* What a memory key names: an element of the HCA's table of keys. */
struct mr_slot {
	_Alignas(64) _Atomic uint32_t users; /* copies on their way, and MR_LIVE: there is a region */
	uint32_t key;
	const struct ci_pd *pd;
	char *addr;
	uint64_t iova;
	uint64_t length;
	uint32_t access; /* enum ib_access */
	struct ci_client *client; /* whose address addr is; NULL: this process's */
};

/* An HCA's regions, by key. */
struct memory {
	struct table keys; /* of struct mr_slot */
	_Atomic uint32_t key_seed;
};

struct soft_mr {
	struct ci_mr ci;
	struct mr_slot *slot;
	uint32_t number;
};

/* random: makes keys differ from process to process; base: the first number. */
al_status memory_create(struct memory *memory, uint32_t max, uint32_t base, uint32_t random);
void memory_destroy(struct memory *memory);
/* The region's domain is set. AL_LIMIT_EXCEEDED, AL_INSUFFICIENT_MEMORY. */
al_status mr_register(struct memory *memory, struct soft_mr *mr, const struct ci_mem *mem);
/* Waits for copies that use it. */
void mr_deregister(struct memory *memory, struct soft_mr *mr);

/* Whose memory, and what is to be done to it. */
struct mem_view {
	const struct memory *memory;
	const struct ci_pd *pd;
	uint32_t access; /* enum ib_access needed; 0: local read */
};

/* The memory under a key, held until mr_put(); NULL: no such key, or not permitted. */
struct mr_slot *mr_get(const struct mem_view *view, uint32_t key, uint64_t addr, uint64_t length,
		       char **mem);
void mr_put(struct mr_slot *slot);

/* A place in a list of pieces of memory, or in plain memory. */
struct cursor {
	struct mem_view view;
	const struct ib_sge *sge; /* the pieces not yet entered; num of them */
	uint32_t num;
	struct mr_slot *slot;     /* of the present piece, or NULL */
	struct ci_client *client; /* whose memory; NULL: this process's */
	char *mem;                /* the present piece */
	uint64_t room;            /* bytes left of it */
};

/* skip: bytes of the list to pass over. False: a key is wrong. */
bool cursor_sges(struct cursor *c, const struct mem_view *view, const struct ib_sge *sge,
		 uint32_t num, uint64_t skip);
/* One piece. */
bool cursor_range(struct cursor *c, const struct mem_view *view, uint64_t addr, uint64_t length,
		  uint32_t key);
void cursor_plain(struct cursor *c, void *mem, uint64_t length);
void cursor_end(struct cursor *c);

enum copy_result {
	COPY_DONE,
	COPY_BAD_SOURCE,
	COPY_BAD_TARGET,
	COPY_CLIENT, /* the target, or some of it, is a client's: an errand of that client's (errand.h) */
	COPY_LATER,  /* that is under way */
	COPY_NO_MEMORY, /* there is no memory for an errand: as if the packet had been lost */
};
/* Both lists are long enough. The source is no client's. */
enum copy_result cursor_copy(struct cursor *to, struct cursor *from, uint64_t length);

/* Are all pieces usable? *client: some are a client's; else it is left alone. */
bool mr_check_sges(const struct mem_view *view, const struct ib_sge *sge, uint32_t num, bool *client);

#endif
