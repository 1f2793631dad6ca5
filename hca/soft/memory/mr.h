/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions, their keys, and copies between lists of pieces (mr.c). The payload of packets is in payload.h. */
#ifndef SOFT_MR_H
#define SOFT_MR_H

#include <stdatomic.h>
#include <iba/ib_hca.h>

#include "hca/soft/base/table.h"

/*
 * An element of the HCA's table of keys. Accesses to the region write nothing here, so threads
 * share the element without a transfer of its cache line: an access runs in a read section, and the
 * region's end waits for those.
 */
struct mr_slot {
	_Alignas(64) _Atomic bool live; /* the slot has a region, whose keys are valid */
	uint32_t key;
	const struct ci_pd *pd;
	char *addr;      /* address of the memory in this process or in the client */
	uint64_t iova;   /* address of the memory in work requests and packets */
	uint64_t length;
	uint32_t access; /* enum ib_access */
	struct ci_client *client; /* client that addr belongs to; NULL: addr is in this process */
};

/* An HCA's regions, by key. */
struct memory {
	struct table keys;         /* struct mr_slot by index */
	_Atomic uint32_t key_seed; /* the lower 8 bits of keys are drawn from this number */
};

struct soft_mr {
	struct ci_mr ci;
	struct mr_slot *slot;
	uint32_t number; /* number of the slot in memory.keys */
	bool revoked;    /* mr_revoke() was called a grace period before mr_deregister() */
};

/* random: makes keys differ from process to process. base: the number of the first slot. */
al_status memory_create(struct memory *memory, uint32_t max, uint32_t base, uint32_t random);
void memory_destroy(struct memory *memory);
/* Gives the region its keys. The caller has set mr->ci.pd. AL_LIMIT_EXCEEDED, AL_INSUFFICIENT_MEMORY. */
al_status mr_register(struct memory *memory, struct soft_mr *mr, const struct ci_mem *mem);
/* Ends the region's keys: no access begins afterwards. Context: any. */
void mr_revoke(struct soft_mr *mr);
/*
 * Ends the region. Waits a grace period for the accesses, unless the caller has done so since
 * mr_revoke(). May sleep.
 */
void mr_deregister(struct memory *memory, struct soft_mr *mr);

/* The rights of an access: the regions that a key is looked up in, the domain, and the kind of access. */
struct mem_view {
	const struct memory *memory;
	const struct ci_pd *pd;
	uint32_t access; /* enum ib_access needed; 0: local read */
};

/*
 * Looks up the memory of a key. NULL: no region has the key, or the view may not access the range.
 * The caller is in a read section, in which the memory and the slot stay as they are
 * (base/reading.h).
 */
const struct mr_slot *mr_find(const struct mem_view *view, uint32_t key, uint64_t addr,
			      uint64_t length, char **mem);
/*
 * Writes why mr_find() refuses an access, for people: "is of no region". False: it does not refuse.
 * Any thread, also outside a read section.
 */
bool mr_explain(const struct mem_view *view, uint32_t key, uint64_t addr, uint64_t length,
		char *text, size_t size) __attribute__((cold));

/*
 * A position in a list of pieces of memory, in one range under a key, or in plain memory. A cursor
 * lives within one read section, unless it is on plain memory.
 */
struct cursor {
	struct mem_view view;
	const struct ib_sge *sge; /* the pieces that the cursor has not entered */
	uint32_t num;             /* pieces at sge */
	struct ci_client *client; /* client whose memory the present piece is; NULL: this process's memory */
	char *mem;                /* position in the present piece */
	uint64_t room;            /* bytes of the present piece from mem on */
};

/* Open a cursor. False: a key is wrong, or the list is too short. skip: bytes of the list before
 * the cursor's position. */
bool cursor_sges(struct cursor *c, const struct mem_view *view, const struct ib_sge *sge,
		 uint32_t num, uint64_t skip);
bool cursor_range(struct cursor *c, const struct mem_view *view, uint64_t addr, uint64_t length,
		  uint32_t key);
/* Opens a cursor on memory without a key. */
void cursor_plain(struct cursor *c, void *mem, uint64_t length);

enum copy_result {
	COPY_DONE,
	COPY_BAD_SOURCE, /* a key of the source is wrong */
	COPY_BAD_TARGET, /* a key of the target is wrong */
	COPY_CLIENT,     /* some of the target is a client's memory, so an errand must make the copy (errand.h) */
	COPY_LATER,      /* an errand is under way */
	COPY_NO_MEMORY,  /* there is no memory for an errand; the transport treats the packet as lost */
};
/* Copies bytes and moves both cursors on. Both lists are long enough. The source is not a client's memory. */
enum copy_result cursor_copy(struct cursor *to, struct cursor *from, uint64_t length);

/*
 * True: the view may access every piece of the list. Sets *client if a piece is a client's memory, and else leaves
 * *client.
 */
bool mr_check_sges(const struct mem_view *view, const struct ib_sge *sge, uint32_t num, bool *client);

#endif
