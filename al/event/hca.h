/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The arrival and removal of HCAs, between the registry of modules (ci/) and the Access Layer. */
#ifndef AL_EVENT_HCA_H
#define AL_EVENT_HCA_H

/* Makes the Access Layer the registry's upper layer (ci_set_upper()). Called before ci_start(). */
void hca_init(void);

#endif
