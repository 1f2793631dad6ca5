/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ald and its service manager tell each other: sd_notify(3), sd_listen_fds(3). */
#ifndef AL_AGENT_SYSTEMD_H
#define AL_AGENT_SYSTEMD_H

/* State, such as "READY=1"; nothing when nobody is there to hear it. */
void systemd_notify(const char *state);
/* It reads its configuration again; READY=1 is the end of that. */
void systemd_notify_reloading(void);

/*
 * The socket that came with the start, with its path. 0: none; -1: what came is none that an agent
 * can listen on, and the log says why.
 */
int systemd_socket(char *path, unsigned long size);

#endif
