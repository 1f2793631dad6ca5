/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rule of a port's events (al/object/port.h), as a question about two lists: the events of a port, and the events
 * that a client got. The client may have been slow, and several ladders may lie between: neither list has times.
 *
 * Each state that the client got stands for one event of the port: Down for a fall, and a rung for the event by which
 * the port came to the rung or passed the rung. These events are in their order. Between two of them the client got
 * exactly the changes which happened between them. The question is whether the states can be placed so.
 */
#ifndef IBAL_TEST_PORT_HISTORY_H
#define IBAL_TEST_PORT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <iba/ib_types.h>

#define HISTORY_MAX     512u
#define HISTORY_CHANGES 6 /* IB_EVENT_LID_CHANGE to IB_EVENT_DEVICE_FATAL */

struct history {
	ib_event_type event[HISTORY_MAX];
	uint32_t num;
};

static inline void history_add(struct history *h, ib_event_type type)
{
	if (h->num < HISTORY_MAX)
		h->event[h->num] = type;
	h->num++;
}

/* Returns the state that an event reports; 0: the event is a change. */
static inline uint32_t history_state(ib_event_type type)
{
	return type <= IB_EVENT_PORT_ACTIVE ? type - IB_EVENT_PORT_DOWN + IB_PORT_DOWN : 0;
}

/* A random event, by a generator whose state is *x: steps that are legal, jumps, the same state
 * again, and changes. */
static inline ib_event_type history_random(uint32_t *x, uint32_t *state)
{
	uint32_t r = (*x = *x * 1664525 + 1013904223) >> 8;

	if (r % 8 < 4)
		return (ib_event_type)(IB_EVENT_LID_CHANGE + (r >> 3) % HISTORY_CHANGES);
	if (r % 8 < 6)
		*state = *state < IB_PORT_ACTIVE && (r >> 3) % 8 ? *state + 1 : IB_PORT_DOWN;
	else
		*state = IB_PORT_DOWN + (r >> 3) % 4;
	return (ib_event_type)(IB_EVENT_PORT_DOWN + *state - IB_PORT_DOWN);
}

/* The port's events, counted: [p] is after the first p events. */
struct history_sums {
	uint32_t state[HISTORY_MAX + 1], falls[HISTORY_MAX + 1],
		changes[HISTORY_MAX + 1][HISTORY_CHANGES];
};

static inline void history_sum(struct history_sums *sums, uint32_t start,
			       const struct history *happened)
{
	memset(sums, 0, sizeof(*sums));
	sums->state[0] = start;
	for (uint32_t p = 1; p <= happened->num; p++) {
		ib_event_type type = happened->event[p - 1];
		uint32_t state = history_state(type);

		sums->state[p] = state ? state : sums->state[p - 1];
		sums->falls[p] = sums->falls[p - 1] + (sums->state[p] < sums->state[p - 1]);
		memcpy(sums->changes[p], sums->changes[p - 1], sizeof(sums->changes[p]));
		if (!state)
			sums->changes[p][type - IB_EVENT_LID_CHANGE]++;
	}
}

/* True: a state that the client got after `known` can stand for event number q, if `known` stands for number p. */
static inline bool history_stands(const struct history_sums *sums, uint32_t known, uint32_t p,
				  uint32_t told, uint32_t q)
{
	bool fall = q && sums->falls[q] != sums->falls[q - 1];
	uint32_t before = !q ? told : fall ? IB_PORT_DOWN : sums->state[q - 1];

	if (told == IB_PORT_DOWN)
		return q > p && fall;
	return q >= p && before < told && told <= sums->state[q] &&
	       (known == IB_PORT_DOWN || sums->falls[q] == sums->falls[p]);
}

/*
 * True: `told` of each type may stand for the changes between event numbers p and q: one for each, or fewer, but not
 * none.
 */
static inline bool history_covers(const struct history_sums *sums, uint32_t p, uint32_t q,
				  const uint32_t *told)
{
	for (int i = 0; i < HISTORY_CHANGES; i++) {
		uint32_t num = sums->changes[q][i] - sums->changes[p][i];

		if (told[i] > num || (num && !told[i]))
			return false;
	}
	return true;
}

/*
 * Returns why the client's events are wrong; NULL: they are right. start: the state that the client knew and the port
 * was in.
 */
static inline const char *history_wrong(uint32_t start, const struct history *happened,
					const struct history *told)
{
	static _Thread_local struct history_sums sums;
	bool may[HISTORY_MAX + 1] = { true }, next[HISTORY_MAX + 1];
	uint32_t changes[HISTORY_CHANGES] = { 0 }, known = start, n = happened->num;

	if (n > HISTORY_MAX || told->num > HISTORY_MAX)
		return "the history is too long for the test";
	history_sum(&sums, start, happened);
	for (uint32_t i = 0; i < told->num; i++) {
		uint32_t state = history_state(told->event[i]);

		if (!state) {
			changes[told->event[i] - IB_EVENT_LID_CHANGE]++;
			continue;
		}
		if (state == IB_PORT_DOWN ? known == IB_PORT_DOWN : state != known + 1)
			return "a step is not legal";
		memset(next, 0, sizeof(next));
		for (uint32_t q = 0; q <= n; q++)
			for (uint32_t p = 0; p <= q && !next[q]; p++)
				next[q] = may[p] && history_stands(&sums, known, p, state, q) &&
					  history_covers(&sums, p, q, changes);
		memcpy(may, next, sizeof(may));
		memset(changes, 0, sizeof(changes));
		known = state;
	}
	if (known != sums.state[n])
		return "the last state told is not the port's";
	for (uint32_t p = 0; p <= n; p++)
		if (may[p] && (known == IB_PORT_DOWN || sums.falls[p] == sums.falls[n]) &&
		    history_covers(&sums, p, n, changes))
			return NULL;
	return "a fall or a change is missing, or is told at the wrong place";
}

/* The events as letters, for messages: D I R A the states, l p g s r f the changes. */
static inline const char *history_text(const struct history *h, char *text)
{
	uint32_t i;

	for (i = 0; i < h->num && i < HISTORY_MAX; i++)
		text[i] = "DIRAlpgsrf"[h->event[i] - IB_EVENT_PORT_DOWN];
	text[i] = 0;
	return text;
}

/* Fails unless the client's events are right; then empties both lists. */
#define history_expect(start, happened, told)                                                    \
	do {                                                                                     \
		char history_a[HISTORY_MAX + 1], history_b[HISTORY_MAX + 1];                     \
		const char *history_why = history_wrong(start, happened, told);                  \
		ck_assert_msg(!history_why, "%s: from state %u there happened %s, told was %s",  \
			      history_why, (unsigned int)(start),                                \
			      history_text(happened, history_a), history_text(told, history_b)); \
		(happened)->num = (told)->num = 0;                                               \
	} while (0)

#endif
