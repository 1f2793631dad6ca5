/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Registration of the lab, that is faults, captures and injected packets, at the hooks of the links (lab.c). */
#ifndef SOFT_LAB_H
#define SOFT_LAB_H

/* Registers the lab's hooks. The module calls this function before the first HCA is made. */
void lab_start(void);

#endif
