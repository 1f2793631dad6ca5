/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Texts and rates, the same as libibverbs' own, which scripts read. */
#include "al/compat/verbs/verbs.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *text(const char *const *table, size_t count, int value)
{
	return value >= 0 && (size_t)value < count && table[value] ? table[value] : "unknown";
}

EXPORT const char *ibv_node_type_str(int type)
{
	static const char *const types[] = {
		[1] = "InfiniBand channel adapter",
		[2] = "InfiniBand switch",
		[3] = "InfiniBand router",
		[4] = "iWARP NIC",
		[5] = "usNIC",
		[6] = "usNIC UDP",
		[7] = "unspecified",
	};

	return text(types, COUNT(types), type);
}

EXPORT const char *ibv_port_state_str(int state)
{
	static const char *const states[] = {
		"no state change (NOP)", "down", "init", "armed", "active", "active defer",
	};

	return text(states, COUNT(states), state);
}

EXPORT const char *ibv_event_type_str(int type)
{
	static const char *const types[] = {
#define TEXT(name, value, al, text) [value] = (text),
		IBV_EVENT_LIST(TEXT)
	};

	return text(types, COUNT(types), type);
}

EXPORT const char *ibv_wc_status_str(int status)
{
	static const char *const statuses[] = {
		"success",
		"local length error",
		"local QP operation error",
		"local EE context operation error",
		"local protection error",
		"Work Request Flushed Error",
		"memory management operation error",
		"bad response error",
		"local access error",
		"remote invalid request error",
		"remote access error",
		"remote operation error",
		"transport retry counter exceeded",
		"RNR retry counter exceeded",
		"local RDD violation error",
		"remote invalid RD request",
		"aborted error",
		"invalid EE context number",
		"invalid EE context state",
		"fatal error",
		"response timeout error",
		"general error",
		"TM error",
		"TM software rendezvous",
	};

	return text(statuses, COUNT(statuses), status);
}

/* ---------------------------------------------------------------------- rates */

/* Rates by code: multiples of 2.5 Gbit/s (0: none), and Mbit/s. */
static const struct {
	int mult, mbps;
} rates[] = {
	[2] = { 1, 2500 },	[3] = { 4, 10000 },   [4] = { 12, 30000 },  [5] = { 2, 5000 },
	[6] = { 8, 20000 },	[7] = { 16, 40000 },  [8] = { 24, 60000 },  [9] = { 32, 80000 },
	[10] = { 48, 120000 },	[11] = { 0, 14062 },  [12] = { 0, 56250 },  [13] = { 0, 112500 },
	[14] = { 0, 168750 },	[15] = { 0, 25781 },  [16] = { 0, 103125 }, [17] = { 0, 206250 },
	[18] = { 0, 309375 },	[19] = { 11, 28125 }, [20] = { 20, 53125 }, [21] = { 160, 425000 },
	[22] = { 240, 637500 }, [23] = { 320, 850000 }, [24] = { 480, 1275000 },
};

EXPORT int ibv_rate_to_mult(int rate)
{
	return rate >= 0 && (size_t)rate < COUNT(rates) && rates[rate].mult ? rates[rate].mult : -1;
}

EXPORT int ibv_rate_to_mbps(int rate)
{
	return rate >= 0 && (size_t)rate < COUNT(rates) && rates[rate].mbps ? rates[rate].mbps : -1;
}

/* 0 (as fast as the port): there is no such rate. */
EXPORT int mult_to_ibv_rate(int mult)
{
	for (size_t i = 0; i < COUNT(rates); i++)
		if (rates[i].mult && rates[i].mult == mult)
			return (int)i;
	return 0;
}

EXPORT int mbps_to_ibv_rate(int mbps)
{
	for (size_t i = 0; i < COUNT(rates); i++)
		if (rates[i].mbps && rates[i].mbps == mbps)
			return (int)i;
	return 0;
}
