/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A test's access to the module fake.so, an HCA without hardware under the test's control. The test opens the module's
 * file before the library does, and finds the variable fake:
 *
 *     struct fake *fake = dlsym(dlopen(FAKE_SO, RTLD_NOW | RTLD_LOCAL), "fake");
 *
 * The test changes members of the struct, and loads the module. Operations count their calls, run the test's hook, and
 * return the status that the test has set; members of the table can be replaced or removed.
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
#define FAKE_REFUSE 0xee /* a provider's first byte that makes the request fail with AL_IO_ERROR */
#define FAKE_MARK "the module was here" /* written at the start of a provider's files */
#define FAKE_PCI_GUID 0x00feed0100000000ULL /* GUID of an HCA on PCI: bus, device and function are in the low bits */

/* The sizes of these structs are the table's obj_size; tests check that the library respects them. */
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
	/* Settings before loading. */
	uint32_t hcas;                        /* number of HCAs that scan announces; default 1 */
	uint64_t guid[FAKE_HCAS];             /* their GUIDs */
	struct ib_ca_attr ca_attr;            /* attributes of all HCAs; node_guid is set per HCA */
	struct ib_port_attr port_attr;        /* attributes of each port; port_guid is set per port */
	struct ci_interface ops;              /* the table that is registered */
	/* status that these functions return; AL_SUCCESS: they run normally */
	al_status fail_init, fail_probe, fail_scan;
	bool keep_hcas;                       /* breaks a rule: cleanup withdraws no HCA */
	void (*on_init)(struct ci_host *host, const struct ci_params *params);

	/* Settings at any time. */
	al_status fail[FAKE_OPS];             /* status that the operation returns without an effect */
	void (*hook[FAKE_OPS])(void *object); /* called inside the operation, before its effect or failure */
	atomic_uint calls[FAKE_OPS];          /* number of calls */
	atomic_uint inits, probes, scans, removes, cleanups;

	/* Set by the module. */
	struct ci_host *host;
	ci_handle handle[FAKE_HCAS];          /* as registered by scan; NULL: not registered, or no longer */
	struct ci_ca *ca[FAKE_HCAS];          /* the HCAs that are open, in no order */
	_Atomic(struct fake_cq *) last_cq;    /* the queue created last */
	_Atomic(struct fake_qp *) last_qp;    /* the queue pair created last */
	struct ci_pci_dev *last_dev;          /* the function probed last */

	/* Events of the hardware, which a device would cause by itself. */
	void (*complete)(struct fake_cq *cq, const struct ib_wc *wc); /* adds a completion; notifies if armed for it */
	al_status (*announce)(uint32_t hca);  /* registers HCA number hca */
	void (*withdraw)(uint32_t hca, uint32_t flags); /* and withdraws the HCA */
};

#endif /* IBAL_TEST_MODULES_FAKE_H */
