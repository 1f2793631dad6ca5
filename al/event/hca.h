/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The arrival and removal of HCAs, between the registry of modules (ci/) and the Access Layer. */
#ifndef AL_EVENT_HCA_H
#define AL_EVENT_HCA_H

#include "al/object/device.h"

/* The part of the arrival and removal of HCAs that al/mgmt registers. */
struct hca_management {
	/* Serves the ports of an arriving HCA whose agents are in the Access Layer. A failure
	 * refuses the HCA. */
	al_status (*arrived)(struct al_dev *dev);
	/* Ends the service of the HCA's ports, before dev_remove_end(). Also undoes arrived(). */
	void (*leaving)(struct al_dev *dev);
	/* Raises a trap. False: the port has no subnet management agent in the Access Layer. Any
	 * context. */
	bool (*trap)(struct al_dev *dev, uint8_t port, const struct ib_notice *notice);
};
/* Registers al/mgmt. Called once, before ci_start(). */
void hca_set_management(const struct hca_management *m);

/* Makes the Access Layer the registry's upper layer (ci_set_upper()). Called before ci_start(). */
void hca_init(void);

#endif
