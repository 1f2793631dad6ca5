/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* HCAs that come and go, from the registry to the PnP clients. */
#ifndef AL_EVENT_HCA_H
#define AL_EVENT_HCA_H

/* Hangs the Access Layer above the registry: before ci_start(). */
void hca_init(void);

#endif
