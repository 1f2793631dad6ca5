/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_mad.h
 * @brief Management datagram formats: what agents and managers read from the wire and write to it.
 *
 * Layouts and constants only; nothing here needs the library. Names follow IBTA volume 1. The formats are in a file per
 * management class; this one, which a reader includes, adds what crosses the Channel Interface.
 */
#ifndef IBA_IB_MAD_H
#define IBA_IB_MAD_H

#include <iba/ib_mad_base.h>
#include <iba/ib_mad_cm.h>
#include <iba/ib_mad_perf.h>
#include <iba/ib_mad_sa.h>
#include <iba/ib_mad_sm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------ the hardware's half of an agent (SAS 4) */

/**
 * What ci_local_mad() is asked. The Access Layer has checked base version, class, method, attribute, M_Key and length,
 * and hands over only what changes the hardware, and reads of live values.
 */
struct ci_local_mad_in {
	uint8_t mgmt_class; /**< #IB_CLASS_SUBN_LID (directed routes too) or #IB_CLASS_PERF */
	uint8_t method;     /**< #IB_METHOD_GET or #IB_METHOD_SET */
	uint16_t attr_id;   /**< attribute */
	uint32_t attr_mod;  /**< which of it */
	uint32_t length;    /**< bytes of data */
	uint32_t pad;       /**< zero */
	uint8_t data[IB_PERF_DATA_BYTES]; /**< attribute, as it came; a Get's too */
	uint64_t reserved[4]; /**< zero */
};

/** What ci_local_mad() answers. The Access Layer builds the response from it. */
struct ci_local_mad_out {
	uint16_t status;    /**< enum ib_mad_status of the response */
	uint16_t pad1;      /**< zero */
	uint32_t length;    /**< bytes of data, no more than the attribute has */
	uint8_t data[IB_PERF_DATA_BYTES]; /**< attribute, as it is now: the answer to Get and Set */
	uint64_t reserved[4]; /**< zero */
};

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_MAD_H */
