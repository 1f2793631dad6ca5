/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_sysfs DIR: writes what programs look for in /sys/class/infiniband, /sys/class/infiniband_verbs
 * and /dev/infiniband to these places below DIR, for the HCAs that the command of al_run will see.
 * It is what the HCAs are now; libredirect.so leads the command there. Files are replaced one by
 * one, so that another command may read them meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iba/ib_al.h>

#include "al/compat/view.h"

#define PATH_BYTES 1024

static const char *top;
static bool failed;

static void fail(const char *path)
{
	fprintf(stderr, "al_sysfs: %s: %s\n", path, strerror(errno));
	failed = true;
}

/* Makes the folders of a path below top. The last part, behind the last slash, is a file's. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + strlen(top) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			fail(path);
		*slash = '/';
	}
}

__attribute__((format(printf, 2, 3))) static void path_of(char *path, const char *format, ...)
{
	const int begin = snprintf(path, PATH_BYTES, "%s/", top);
	va_list words;

	va_start(words, format);
	vsnprintf(path + begin, PATH_BYTES - (size_t)begin, format, words);
	va_end(words);
	make_folders(path);
}

/* Writes a line to the file of a path. Until the whole line is written, the path leads to the old file. */
__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *format, ...)
{
	char temporary[PATH_BYTES + 16];
	va_list words;
	FILE *file;

	snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
	file = fopen(temporary, "we");
	if (!file) {
		fail(temporary);
		return;
	}
	va_start(words, format);
	vfprintf(file, format, words);
	va_end(words);
	fputc('\n', file);
	if (fclose(file) || rename(temporary, path))
		fail(path);
}

/* The four groups of a GUID or of half a GID. */
#define GROUPS(v)                                                               \
	(unsigned int)((v) >> 48 & 0xffff), (unsigned int)((v) >> 32 & 0xffff), \
		(unsigned int)((v) >> 16 & 0xffff), (unsigned int)((v)&0xffff)
#define FOUR "%04x:%04x:%04x:%04x"

static uint64_t half(const ib_gid *gid, int which)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | gid->raw[8 * which + i];
	return value;
}

/* -------------------------------------------------------------------------- ports */

static const char *state_name(ib_port_state state)
{
	static const char *const names[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE" };

	return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "<unknown>";
}

/* The line of the file "rate", such as "100 Gb/sec (4X EDR)". */
static void put_rate(const char *path, const struct ib_port_attr *port)
{
	static const struct {
		ib_speed speed;
		double gbps; /* of a lane */
		const char *name;
	} speeds[] = {
		{ IB_SPEED_SDR, 2.5, "" },         { IB_SPEED_DDR, 5, " DDR" },
		{ IB_SPEED_QDR, 10, " QDR" },      { IB_SPEED_FDR10, 10, " FDR10" },
		{ IB_SPEED_FDR, 14.0625, " FDR" }, { IB_SPEED_EDR, 25, " EDR" },
		{ IB_SPEED_HDR, 50, " HDR" },      { IB_SPEED_NDR, 100, " NDR" },
	};
	const uint32_t lanes = ib_width_lanes(port->active_width);

	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
		if (speeds[i].speed == port->active_speed)
			put(path, "%g Gb/sec (%uX%s)", lanes * speeds[i].gbps, lanes,
			    speeds[i].name);
}

static void write_tables(const char *name, al_ca_h ca, uint8_t port_num,
			 const struct ib_port_attr *port)
{
	ib_gid_type type;
	char path[PATH_BYTES];
	uint16_t pkey;
	ib_gid gid;

	for (uint32_t i = 0; i < port->gid_tbl_len && !al_query_gid(ca, port_num, i, &gid); i++) {
		path_of(path, "sys/class/infiniband/%s/ports/%u/gids/%u", name, port_num, i);
		put(path, FOUR ":" FOUR, GROUPS(half(&gid, 0)), GROUPS(half(&gid, 1)));
		if (!half(&gid, 0) && !half(&gid, 1))
			continue; /* the kernel cannot read the attributes of an empty entry */
		path_of(path, "sys/class/infiniband/%s/ports/%u/gid_attrs/types/%u", name, port_num,
			i);
		if (!al_query_gid_type(ca, port_num, i, &type))
			put(path, "%s", type == IB_GID_TYPE_ROCE_V2 ? al_gid_type_str(type) : "IB/RoCE v1");
	}
	for (uint32_t i = 0; i < port->pkey_tbl_len && !al_query_pkey(ca, port_num, i, &pkey);
	     i++) {
		path_of(path, "sys/class/infiniband/%s/ports/%u/pkeys/%u", name, port_num, i);
		put(path, "0x%04x", pkey);
	}
}

#define PUT(file, ...)                                                                      \
	do {                                                                                \
		path_of(path, "sys/class/infiniband/%s/ports/%u/%s", name, port_num, file); \
		put(path, __VA_ARGS__);                                                     \
	} while (0)

static void write_port(const char *name, al_ca_h ca, uint8_t port_num)
{
	struct ib_port_attr port;
	char path[PATH_BYTES];

	if (al_query_port(ca, port_num, &port))
		return;
	PUT("state", "%d: %s", (int)port.state, state_name(port.state));
	PUT("phys_state", "%d: %s", (int)port.phys_state, al_phys_state_str(port.phys_state));
	PUT("lid", "0x%x", port.lid);
	PUT("lid_mask_count", "%u", port.lmc);
	PUT("sm_lid", "0x%x", port.sm_lid);
	PUT("sm_sl", "%u", port.sm_sl);
	PUT("cap_mask", "0x%08x", port.cap_mask);
	PUT("link_layer", "%s", al_link_layer_str(port.link_layer));
	path_of(path, "sys/class/infiniband/%s/ports/%u/rate", name, port_num);
	put_rate(path, &port);
	write_tables(name, ca, port_num, &port);
}
#undef PUT

/* --------------------------------------------------------------------------- HCAs */

#define PUT(file, ...)                                                        \
	do {                                                                  \
		path_of(path, "sys/class/infiniband/%s/%s", attr.name, file); \
		put(path, __VA_ARGS__);                                       \
	} while (0)

/* Writes an HCA; number: of its device in /dev/infiniband, as libibverbs counts. */
static void write_ca(al_ca_h ca, unsigned int number)
{
	struct ib_ca_attr attr;
	char path[PATH_BYTES];

	if (al_query_ca(ca, &attr))
		return;
	PUT("node_guid", FOUR, GROUPS(attr.node_guid));
	PUT("sys_image_guid", FOUR, GROUPS(attr.sys_image_guid));
	PUT("node_type", "1: CA");
	PUT("node_desc", "%s", attr.node_desc);
	PUT("fw_ver", "%s", attr.fw_ver);
	PUT("hw_rev", "%x", attr.hw_ver);
	PUT("hca_type", "%s", attr.name);
	PUT("device/numa_node", "-1");
	for (uint32_t i = 1; i <= attr.num_ports && i <= UINT8_MAX; i++)
		write_port(attr.name, ca, (uint8_t)i);
	path_of(path, "sys/class/infiniband_verbs/uverbs%u/ibdev", number);
	put(path, "%s", attr.name);
	path_of(path, "sys/class/infiniband_verbs/abi_version");
	put(path, "6");
	path_of(path, "sys/class/infiniband_verbs/uverbs%u/abi_version", number);
	put(path, "1");
	/* A device that may be looked at, and is not to be opened. */
	path_of(path, "dev/infiniband/uverbs%u", number);
	if (symlink("/dev/null", path) && errno != EEXIST)
		fail(path);
}

/* Writes all HCAs of the view. */
static void write_cas(al_h al, const uint64_t *guids, size_t count)
{
	unsigned int number = 0;
	al_ca_h ca;

	for (size_t i = 0; i < count; i++) {
		if (!view_has(guids[i]) || al_open_ca(al, guids[i], NULL, &ca))
			continue;
		write_ca(ca, number++);
		al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	}
}

int main(int argc, char **argv)
{
	const struct al_open_attr open_attr = { .left_behind = IB_LOG_DEBUG };
	static uint64_t guids[65536];
	size_t count = sizeof(guids) / sizeof(guids[0]);
	al_h al;

	if (argc != 2)
		return 2;
	top = argv[1];
	if (al_open(&open_attr, &al))
		return 1;
	if (al_get_ca_guids(al, guids, &count))
		failed = true;
	else
		write_cas(al, guids, count);
	al_close(al, AL_DESTROY_SYNC, NULL);
	return failed;
}
