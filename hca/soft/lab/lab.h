/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The lab: faults, captures and injected packets, registered at the hooks of the links. */
#ifndef SOFT_LAB_H
#define SOFT_LAB_H

/* Before the first HCA is made. */
void lab_start(void);

#endif
