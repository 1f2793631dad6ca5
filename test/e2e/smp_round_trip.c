/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Times Get(NodeInfo) over a directed route, by whichever libibumad the loader finds: the
 * replacement of this tree, or the distribution's over the simulator ibsim.
 *
 *     smp_round_trip REQUESTS PORT...    PORT: of each node of the route the port to leave by; 5
 * ports are five hops
 *
 * Prints the median of the round trips in microseconds.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "al/compat/umad/umad.h"

#define TIMEOUT_MS 5000
#define MAX_HOPS   63

static void *lib;

/* The function of libibumad with a name. */
static void *function(const char *name)
{
	void *found = dlsym(lib, name);

	if (!found) {
		fprintf(stderr, "smp_round_trip: libibumad has no %s\n", name);
		exit(1);
	}
	return found;
}

#define CALL(type, name) ((type)function(#name))

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	const int requests = argc > 2 ? atoi(argv[1]) : 0;
	const int hops = argc - 2;
	char buffer[512] __attribute__((aligned(8)));
	int (*send)(int, int, void *, int, int, int);
	int (*recv)(int, void *, int *, int);
	struct ib_smp *smp;
	void *(*mad_of)(void *);
	double *took, start;
	int port, agent, length, i;

	if (requests < 1 || hops < 1 || hops > MAX_HOPS) {
		fprintf(stderr, "usage: smp_round_trip REQUESTS PORT...\n");
		return 2;
	}
	lib = dlopen("libibumad.so.3", RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "smp_round_trip: %s\n", dlerror());
		return 1;
	}
	if (CALL(int (*)(void), umad_init)())
		return 1;
	port = CALL(int (*)(const char *, int), umad_open_port)(NULL, 0);
	agent = CALL(int (*)(int, int, int, uint8_t, long *),
		     umad_register)(port, IB_CLASS_SUBN_DIR, 1, 0, NULL);
	if (port < 0 || agent < 0) {
		fprintf(stderr, "smp_round_trip: no port can be opened (%d, %d)\n", port, agent);
		return 1;
	}
	send = CALL(int (*)(int, int, void *, int, int, int), umad_send);
	recv = CALL(int (*)(int, void *, int *, int), umad_recv);
	mad_of = CALL(void *(*)(void *), umad_get_mad);
	took = calloc((size_t)requests, sizeof(*took));
	if (!took)
		return 1;
	for (i = 0; i < requests; i++) {
		memset(buffer, 0, sizeof(buffer));
		CALL(int (*)(void *, int, int, int, int), umad_set_addr)(buffer, 0xffff, 0, 0, 0);
		smp = mad_of(buffer);
		smp->base_version = 1;
		smp->mgmt_class = IB_CLASS_SUBN_DIR;
		smp->class_version = 1;
		smp->method = IB_METHOD_GET;
		smp->tid = ib_be64_of((uint64_t)i + 1);
		smp->attr_id = ib_be16_of(IB_SMP_NODE_INFO);
		smp->hop_count = (uint8_t)hops;
		smp->dr_slid = smp->dr_dlid = ib_be16_of(IB_LID_PERMISSIVE);
		for (int hop = 0; hop < hops; hop++)
			smp->initial_path[hop + 1] = (uint8_t)atoi(argv[hop + 2]);
		start = now_us();
		if (send(port, agent, buffer, sizeof(*smp), TIMEOUT_MS, 0)) {
			fprintf(stderr, "smp_round_trip: request %d can not be sent\n", i);
			return 1;
		}
		length = sizeof(*smp);
		if (recv(port, buffer, &length, TIMEOUT_MS) < 0 ||
		    CALL(int (*)(void *), umad_status)(buffer)) {
			fprintf(stderr, "smp_round_trip: request %d has no answer\n", i);
			return 1;
		}
		took[i] = now_us() - start;
	}
	qsort(took, (size_t)requests, sizeof(*took), compare);
	printf("%.1f\n", took[requests / 2]);
	free(took);
	return 0;
}
