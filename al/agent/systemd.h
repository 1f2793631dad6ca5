/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ald and its service manager exchange: ald's states (sd_notify(3)) and the socket
 * (sd_listen_fds(3)). */
#ifndef AL_AGENT_SYSTEMD_H
#define AL_AGENT_SYSTEMD_H

/* Sends a state, such as "READY=1", to the service manager. Does nothing without a service
 * manager. */
void systemd_notify(const char *state);
/* Tells the service manager that ald reads its configuration again; READY=1 tells that ald has read
 * it. */
void systemd_notify_reloading(void);

/*
 * Takes the socket that the service manager has handed to the process, and copies its path. Returns
 * the descriptor. 0: the service manager has handed over no socket. -1: an agent can not listen on
 * the socket, and the log says why.
 */
int systemd_socket(char *path, unsigned long size);

#endif
