/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent's log on standard error. No message waits for whoever reads the log, since a message
 * would hold the thread that serves all clients; and no client fills the log, since of each
 * component only so many warnings and errors are written. What is left out is counted and told.
 */
#ifndef AL_AGENT_LOG_H
#define AL_AGENT_LOG_H

#define LOG_SECONDS 10
#define LOG_MOST    100 /* warnings and errors of a component within LOG_SECONDS */

/* From now on the library's messages are written so. */
void log_start(void);

#endif
