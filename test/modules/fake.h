/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How a test reaches into the module fake.so: an HCA without hardware that does what it is told.
 * The test opens the same file before the library does and finds the one variable below:
 *
 *     struct fake *fake = dlsym(dlopen(FAKE_SO, RTLD_NOW | RTLD_LOCAL), "fake");
 *
 * changes what it likes, and loads the module. Operations count their calls, run the test's hook,
 * and fail when told to; members of the table can be replaced or taken out.
 */
#ifndef IBAL_TEST_MODULES_FAKE_H
#define IBAL_TEST_MODULES_FAKE_H

#include <stdatomic.h>

#include <iba/ib_hca.h>

/* An index for each operation: FAKE_open_ca and so on. */
enum fake_op {
#define OP(name, ...) FAKE_##name,
#include "ci/ops.def"
	FAKE_OPS
};

#define FAKE_HCAS 4
#define FAKE_GUID 0x00feed0000000001ULL /* of the first HCA; the others count up */
#define FAKE_REFUSE 0xee /* what a provider says first, for the request to fail: AL_IO_ERROR */
#define FAKE_MARK "the module was here" /* what is written at the start of a provider's files */
#define FAKE_PCI_GUID 0x00feed0100000000ULL /* of one on PCI: bus, device and function in the low bits */

/* What the table's obj_size says, so that tests see that it is respected. */
struct fake_ca {
	struct ci_ca ca;   /* first */
	bool open;
};

struct fake_cq {
	struct ci_cq cq;   /* first */
	struct ib_wc *ring;
	uint32_t head, count;
	al_arm armed;
	bool fresh;        /* a completion has come since the last notification */
};

struct fake_qp {
	struct ci_qp qp;   /* first */
	struct ib_qp_attr attr;
	uint64_t *recv;    /* wr_ids of receives that wait */
	uint32_t recv_head, recv_count;
};

struct fake {
	/* Before loading. */
	uint32_t hcas;                        /* announced by scan; 1 */
	uint64_t guid[FAKE_HCAS];             /* their GUIDs */
	struct ib_ca_attr ca_attr;            /* attributes of all; node_guid is set per HCA */
	struct ib_port_attr port_attr;        /* attributes of each port; port_guid is set per port */
	struct ci_interface ops;              /* the table that is registered */
	al_status fail_init, fail_probe, fail_scan; /* what they return; AL_SUCCESS: as they go */
	bool keep_hcas;                       /* breaks the rule: cleanup withdraws nothing */
	void (*on_init)(struct ci_host *host, const struct ci_params *params);

	/* Any time. */
	al_status fail[FAKE_OPS];             /* what the operation returns instead of doing anything */
	void (*hook[FAKE_OPS])(void *object); /* called inside the operation, before it fails or does anything */
	atomic_uint calls[FAKE_OPS];          /* how often it was called */
	atomic_uint inits, probes, scans, removes, cleanups;

	/* Set by the module. */
	struct ci_host *host;
	ci_handle handle[FAKE_HCAS];          /* as registered by scan; NULL: not (any more) */
	struct ci_ca *ca[FAKE_HCAS];          /* the HCAs that are open, in no order */
	_Atomic(struct fake_cq *) last_cq;    /* created last */
	_Atomic(struct fake_qp *) last_qp;    /* created last */
	struct ci_pci_dev *last_dev;          /* probed last */

	/* The hardware's side: what a device would do by itself. */
	void (*complete)(struct fake_cq *cq, const struct ib_wc *wc); /* adds a completion; notifies when armed for it */
	al_status (*announce)(uint32_t hca);  /* registers HCA number hca */
	void (*withdraw)(uint32_t hca, uint32_t flags); /* and withdraws it */
};

#endif /* IBAL_TEST_MODULES_FAKE_H */
