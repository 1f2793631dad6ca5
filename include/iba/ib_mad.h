/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_mad.h
 * @brief Formats of management datagrams, as agents and managers read and write them on the wire.
 *
 * The headers have layouts and constants only, and need no function of the library. Names follow IBTA volume 1 (the
 * InfiniBand Architecture Specification). The formats are in a header for each management class. Include this header,
 * which includes the others and adds the parameters of the operation local_mad of the Channel Interface.
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

/**
 * @defgroup ibal_ci_local_mad HCA modules: the hardware's half of a management agent
 * Input and output of the operation local_mad of struct ci_interface. The Access Layer has the agents of a port with a
 * bit of enum ci_port_cap, and asks the module for what only the hardware knows.
 * @{
 */

/**
 * Input of ci_local_mad(). The Access Layer has checked base version, class, method, attribute, M_Key and length. It
 * calls the operation only for a Set that changes the hardware and for a Get of values that the hardware changes.
 */
struct ci_local_mad_in {
	uint8_t mgmt_class; /**< #IB_CLASS_SUBN_LID (directed routes too) or #IB_CLASS_PERF */
	uint8_t method;     /**< #IB_METHOD_GET or #IB_METHOD_SET */
	uint16_t attr_id;   /**< attribute */
	uint32_t attr_mod;  /**< attribute modifier */
	uint32_t length;    /**< bytes of data */
	uint32_t pad;       /**< zero */
	uint8_t data[IB_PERF_DATA_BYTES]; /**< attribute as received, with Get and Set */
	uint64_t reserved[4]; /**< zero */
};

/** Output of ci_local_mad(), from which the Access Layer builds the response. */
struct ci_local_mad_out {
	uint16_t status;    /**< enum ib_mad_status of the response */
	uint16_t pad1;      /**< zero */
	uint32_t length;    /**< bytes of data, no more than the attribute has */
	uint8_t data[IB_PERF_DATA_BYTES]; /**< current attribute, for the response to Get and Set */
	uint64_t reserved[4]; /**< zero */
};

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_MAD_H */
