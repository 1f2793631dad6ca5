/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A second link, for tests (queue_link.c). The cables are the loop link's, but each packet is copied by value, as
 * packets between processes and hosts are, and lies in a queue of the far port until that port is polled.
 */
#ifndef TEST_QUEUE_LINK_H
#define TEST_QUEUE_LINK_H

#include <stdbool.h>

/*
 * Sets the link of all ports that the software HCA makes from now on, by the environment variable IBAL_TEST_LINK.
 * "queue": the queue link, and a sender kicks the far port's poller. "doorbell": the queue link, and a sender writes
 * to a descriptor that the far port's engine watches. Any other value, or none: the loop link.
 */
void queue_link_use_as_asked(void);
/* True: queue_link_use_as_asked() has set the queue link. */
bool queue_link_in_use(void);

#endif
