/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Circular doubly linked lists. A list is a link that is no element's; an element has a link for
 * each list that it may be in. */
#ifndef AL_MGMT_LINK_H
#define AL_MGMT_LINK_H

#include <stdbool.h>
#include <stddef.h>

struct mgmt_link {
	struct mgmt_link *next, *prev;
};

/* The element that contains a link. */
#define LINK_OWNER(link, type, member) ((type *)(void *)((char *)(link) - offsetof(type, member)))

/* Prepares an empty list, or a link that is in no list. */
static inline void link_init(struct mgmt_link *link)
{
	link->next = link->prev = link;
}

/* True: the list is empty, or the link is in no list. */
static inline bool link_alone(const struct mgmt_link *link)
{
	return link->next == link;
}

/* Inserts a link before the link "at"; before the list itself: at the list's end. */
static inline void link_insert(struct mgmt_link *at, struct mgmt_link *link)
{
	link->next = at;
	link->prev = at->prev;
	at->prev->next = link;
	at->prev = link;
}

/* Takes a link out of its list, if any. */
static inline void link_remove(struct mgmt_link *link)
{
	link->next->prev = link->prev;
	link->prev->next = link->next;
	link_init(link);
}

#endif
