/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Port events: the ladder of a port's states with the changes between its rungs, and the ladders of
 * an HCA's ports. */
#include "al/object/port.h"

/*
 * ladder.word, from bit 0 on: the state of the port and the state told last (enum ib_port_state),
 * FELL and SKIPS. Then a byte for each rung: the changes that came while the port was in that state and
 * are not told, 1 << (type - IB_EVENT_LID_CHANGE). The byte of rung 0 (IB_PORT_NOP) has the changes
 * that came before the last fall, or before the first state.
 */
#define STATE_MASK    7u
#define TOLD_SHIFT    3
#define FELL          (1u << 6) /* Down is the next state to tell; the state told last is above Down */
#define SKIPS         (1u << 7) /* the port has the states Down and Active only */
#define CHANGES_SHIFT 8
#define CHANGES_BITS  8
#define CHANGES_MASK  0xffu
#define ALL_CHANGES   (~0ull << CHANGES_SHIFT)

_Static_assert(IB_EVENT_DEVICE_FATAL - IB_EVENT_LID_CHANGE < CHANGES_BITS, "a change has no bit");
_Static_assert(CHANGES_SHIFT + CHANGES_BITS * (IB_PORT_ACTIVE + 1) <= 64, "a rung has no byte");

static uint32_t state_of(uint64_t word)
{
	return word & STATE_MASK;
}

static uint32_t told_of(uint64_t word)
{
	return word >> TOLD_SHIFT & STATE_MASK;
}

static uint64_t set_state(uint64_t word, uint32_t state)
{
	return (word & ~(uint64_t)STATE_MASK) | state;
}

/* Counts a state as told. With Down the fall is told. */
static uint64_t set_told(uint64_t word, uint32_t state)
{
	return (word & ~(uint64_t)(STATE_MASK << TOLD_SHIFT | FELL)) | state << TOLD_SHIFT;
}

static int shift_of(uint32_t rung)
{
	return CHANGES_SHIFT + CHANGES_BITS * (int)rung;
}

/* The state that an event sets; IB_PORT_NOP: the event is a change. */
static uint32_t event_state(ib_event_type type)
{
	return PORT_STATES & 1u << type ? type - IB_EVENT_PORT_DOWN + IB_PORT_DOWN : IB_PORT_NOP;
}

/* ------------------------------------------------------------------ adding */

/* Moves the changes of all rungs to the byte of the changes before the last fall. */
static uint64_t move_changes(uint64_t word)
{
	uint64_t changes = 0;

	for (uint32_t rung = 0; rung <= IB_PORT_ACTIVE; rung++)
		changes |= word >> shift_of(rung) & CHANGES_MASK;
	return (word & ~ALL_CHANGES) | changes << shift_of(0);
}

static uint64_t add_state(uint64_t word, uint32_t state)
{
	if (state < state_of(word)) {
		word = move_changes(word);
		if (told_of(word) > IB_PORT_DOWN)
			word |= FELL;
	}
	return set_state(word, state);
}

static uint64_t add(uint64_t word, ib_event_type type)
{
	uint32_t state = event_state(type);

	if (state)
		return add_state(word, state);
	return word | 1ull << (type - IB_EVENT_LID_CHANGE) << shift_of(state_of(word));
}

/* ------------------------------------------------------------------ taking */

static bool take_change(uint64_t *word, uint32_t rung, ib_event_type *type)
{
	uint64_t changes = *word >> shift_of(rung) & CHANGES_MASK;

	if (!changes)
		return false;
	*type = (ib_event_type)(IB_EVENT_LID_CHANGE + __builtin_ctzll(changes));
	*word &= ~((changes & -changes) << shift_of(rung));
	return true;
}

static void take_step(uint64_t *word, uint32_t state, ib_event_type *type)
{
	*word = set_told(*word, state);
	*type = (ib_event_type)(state - IB_PORT_DOWN + IB_EVENT_PORT_DOWN);
}

/* Takes the next event. This function is the rule of order. */
static bool take(uint64_t *word, ib_event_type *type)
{
	uint32_t state = state_of(*word), told = told_of(*word);

	if (take_change(word, 0, type))
		return true;
	if (*word & FELL) {
		take_step(word, IB_PORT_DOWN, type);
		return true;
	}
	if (told == IB_PORT_NOP && state > IB_PORT_DOWN)
		told = IB_PORT_DOWN; /* a new client of a port that is up is not told Down */
	for (uint32_t rung = IB_PORT_DOWN; rung <= told; rung++)
		if (take_change(word, rung, type))
			return true;
	if (told >= state)
		return false;
	take_step(word, *word & SKIPS ? state : told + 1, type);
	return true;
}

/* ------------------------------------------------------------------ ladder */

void ladder_init(struct ladder *l, ib_port_state state)
{
	uint32_t known = state > IB_PORT_ACTIVE ? IB_PORT_ACTIVE : state;
	uint64_t now = atomic_load(&l->word), next;

	do {
		next = state_of(now) ? now : set_state(now, known);
		next = set_told(next, state_of(next));
	} while (!atomic_compare_exchange_weak(&l->word, &now, next));
}

void ladder_skip_steps(struct ladder *l)
{
	atomic_fetch_or(&l->word, SKIPS);
}

bool ladder_skips_steps(const struct ladder *l)
{
	return atomic_load(&l->word) & SKIPS;
}

void ladder_replay(struct ladder *l, const struct ladder *of, ib_port_state state)
{
	atomic_store(&l->word, set_state(ladder_skips_steps(of) ? SKIPS : 0, state));
}

void ladder_add(struct ladder *l, ib_event_type type)
{
	uint64_t now = atomic_load_explicit(&l->word, memory_order_relaxed);

	while (!atomic_compare_exchange_weak(&l->word, &now, add(now, type)))
		;
}

void ladder_follow(struct ladder *l, ib_event_type type)
{
	uint32_t state = event_state(type);

	if (state && ladder_told(l) == IB_PORT_NOP)
		ladder_init(l, state == IB_PORT_DOWN ? IB_PORT_ACTIVE : (ib_port_state)(state - 1));
	if (state == IB_PORT_ACTIVE && state_of(atomic_load(&l->word)) == IB_PORT_DOWN)
		ladder_skip_steps(l);
	ladder_add(l, type);
}

bool ladder_take(struct ladder *l, ib_event_type *type)
{
	uint64_t now = atomic_load(&l->word), next;

	do {
		next = now;
		if (!take(&next, type))
			return false;
	} while (!atomic_compare_exchange_weak(&l->word, &now, next));
	return true;
}

bool ladder_has_event(const struct ladder *l)
{
	uint64_t word = atomic_load(&l->word);
	ib_event_type type;

	return take(&word, &type);
}

ib_port_state ladder_told(const struct ladder *l)
{
	return (ib_port_state)told_of(atomic_load(&l->word));
}

/* ------------------------------------------------------------------- ports */

bool port_take_event(struct dev_port *ports, uint32_t num_ports, ib_event_type *type,
		     uint32_t *port)
{
	for (*port = 0; *port <= num_ports; ++*port)
		if (ladder_take(&ports[*port].ladder, type))
			return true;
	return false;
}

bool port_has_event(const struct dev_port *ports, uint32_t num_ports)
{
	for (uint32_t i = 0; i <= num_ports; i++)
		if (ladder_has_event(&ports[i].ladder))
			return true;
	return false;
}
