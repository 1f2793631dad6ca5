/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Devices: the HCAs of the library, their names and attributes. The name of an HCA is its short name, as in libibverbs,
 * for programs take a name from there to here; the name of a switch is "ib" and the node GUID's 16 hexadecimal digits,
 * which names an HCA as well. IBAL_UMAD_CAS (al_run --ca) chooses HCAs and switches by GUIDs, separated by commas;
 * without it a program sees the first 32 HCAs. A switch is a device with one port, port 0.
 */
#include "al/compat/umad/device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "al/compat/view.h"

#define EXPORT __attribute__((visibility("default")))

int umad_debug_level;

/* Guards the members below. A forked child has an opening and handles of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pid_t pid; /* process of the opening; 0: none */
	al_h al;
	struct device *devices; /* opened HCAs; an HCA that has gone stays */
	size_t num;
} library;

int umad_errno(al_status status)
{
	static const struct {
		al_status status;
		int error;
	} errors[] = {
		{ AL_SUCCESS, 0 },
		{ AL_PERMISSION, EPERM },
		{ AL_INSUFFICIENT_MEMORY, ENOMEM },
		{ AL_INSUFFICIENT_RESOURCES, EMFILE },
		{ AL_LIMIT_EXCEEDED, ENOBUFS },
		{ AL_QUEUE_FULL, EAGAIN },
		{ AL_DUPLICATE, EBUSY },
		{ AL_RESOURCE_BUSY, EBUSY },
		{ AL_CA_REMOVED, ENODEV },
		{ AL_AGENT_LOST, ENODEV },
		{ AL_NOT_FOUND, ENODEV },
		{ AL_CA_ERROR, EIO },
		{ AL_IO_ERROR, EIO },
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].status == status)
			return -errors[i].error;
	return -EINVAL;
}

/* Opens the library for this process. Under the lock. */
static al_h open_library(void)
{
	if (library.pid == getpid())
		return library.al;
	memset(&library, 0, sizeof(library)); /* a forked child has nothing of its parent's */
	if (al_open(NULL, &library.al))
		return NULL;
	library.pid = getpid();
	return library.al;
}

al_h umad_library(void)
{
	int before = cancel_off();
	al_h al;

	pthread_mutex_lock(&lock);
	al = open_library();
	pthread_mutex_unlock(&lock);
	cancel_back(before);
	return al;
}

/* ------------------------------------------------------------------- devices */

/* Under the lock. */
static bool has_name(const char *name)
{
	for (size_t i = 0; i < library.num; i++)
		if (!strcmp(library.devices[i].name, name))
			return true;
	return false;
}

/* Opens an HCA, or finds it opened. Under the lock. */
static int open_device(uint64_t guid, struct device *device)
{
	struct ib_ca_attr attr;
	struct device *grown;
	al_status status;

	for (size_t i = 0; i < library.num; i++)
		if (library.devices[i].guid == guid && !al_query_ca(library.devices[i].ca, &attr)) {
			*device = library.devices[i];
			return 0;
		}
	grown = realloc(library.devices, (library.num + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	library.devices = grown;
	status = al_open_ca(library.al, guid, NULL, &device->ca);
	if (status)
		return umad_errno(status);
	status = al_query_ca(device->ca, &attr);
	if (status) {
		al_close_ca(device->ca, NULL, NULL);
		return umad_errno(status);
	}
	device->guid = guid;
	view_name(device->name, sizeof(device->name),
		  attr.node_type == IB_NODE_CA ? attr.name : "", has_name(attr.name), guid);
	library.devices[library.num++] = *device;
	return 0;
}

/* Writes up to max HCAs of the view, opened. Returns their number. Under the lock. */
static int list_hcas(struct device *devices, int max)
{
	size_t num_guids = 0;
	uint64_t *guids = NULL;
	int num = 0;

	if (al_get_ca_guids(library.al, NULL, &num_guids) != AL_INVALID_HANDLE && num_guids)
		guids = calloc(num_guids, sizeof(*guids));
	if (guids && !al_get_ca_guids(library.al, guids, &num_guids))
		for (size_t i = 0; i < num_guids && num < max; i++)
			if (view_has(guids[i]) && !open_device(guids[i], &devices[num]))
				num++;
	free(guids);
	return num;
}

static bool is_listed(const struct device *devices, int num, uint64_t guid)
{
	while (num && devices[num - 1].guid != guid)
		num--;
	return num;
}

/* Appends the switches that IBAL_UMAD_CAS names to num devices, up to max devices. Returns the
 * number of devices. Under the lock. */
static int list_switches(struct device *devices, int num, int max)
{
	const char *at = view_first();
	uint64_t guid;

	while (at && num < max && view_next(&at, &guid))
		if (!is_listed(devices, num, guid) && !open_device(guid, &devices[num]))
			num++;
	return num;
}

/* Says once which HCAs of al_run --ca are not there, since a program shows the others only. Under
 * the lock. */
static void tell_missing(const struct device *devices, int num)
{
	static bool told;
	const char *at = view_first();
	uint64_t guid;

	if (told)
		return;
	told = true;
	while (view_next(&at, &guid))
		if (!is_listed(devices, num, guid))
			fprintf(stderr,
				"libibumad of ibal: --ca 0x%016llx: there is no such HCA or switch; \"al_run "
				"al_query ca\" shows the HCAs\n",
				(unsigned long long)guid);
}

/* Writes up to max devices of the view, opened. Returns their number. */
static int list_devices(struct device *devices, int max)
{
	int before = cancel_off(), num = 0;

	pthread_mutex_lock(&lock);
	if (open_library()) {
		num = list_switches(devices, list_hcas(devices, max), max);
		if (num < max)
			tell_missing(devices, num);
	}
	pthread_mutex_unlock(&lock);
	cancel_back(before);
	return num;
}

#define NO_PORT (-1)

/* Finds the first port of a device with at least this state; if number is not 0, only the port of
 * that number counts. For a switch the result is port 0 for any number and state, as in libibumad.
 */
static int find_port(const struct device *device, int number, ib_port_state state)
{
	struct ib_port_attr attr;
	struct ib_ca_attr ca;

	if (al_query_ca(device->ca, &ca))
		return NO_PORT;
	if (ca.node_type == IB_NODE_SWITCH)
		return 0;
	for (uint32_t i = 1; i <= ca.num_ports; i++)
		if ((!number || (uint32_t)number == i) &&
		    !al_query_port(device->ca, (uint8_t)i, &attr) && attr.state >= state)
			return (int)i;
	return NO_PORT;
}

static bool is_named(const struct device *device, const char *name)
{
	char guid_name[UMAD_NAME_BYTES];

	view_guid_name(guid_name, sizeof(guid_name), device->guid);
	return !strncmp(name, device->name, UMAD_NAME_BYTES) ||
	       !strncmp(name, guid_name, UMAD_NAME_BYTES);
}

int device_find(const char *name, int *number, struct device *device)
{
	static const ib_port_state wanted[] = { IB_PORT_ACTIVE, IB_PORT_INIT, IB_PORT_NOP };
	struct device devices[UMAD_DEVICES];
	int num = list_devices(devices, UMAD_DEVICES), found;

	for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		for (int i = 0; i < num; i++) {
			if (name && !is_named(&devices[i], name))
				continue;
			found = find_port(&devices[i], *number, wanted[w]);
			if (found == NO_PORT)
				continue;
			*device = devices[i];
			*number = found;
			return 0;
		}
	return -ENODEV;
}

/* ------------------------------------------------------------------ exported */

EXPORT int umad_init(void)
{
	return umad_library() ? 0 : -1;
}

/* The library stays open: programs call umad_done() with ports that are open. */
EXPORT int umad_done(void)
{
	return 0;
}

EXPORT int umad_debug(int level)
{
	if (level >= 0)
		umad_debug_level = level;
	return umad_debug_level;
}

EXPORT int umad_get_cas_names(char names[][UMAD_NAME_BYTES], int max)
{
	struct device devices[UMAD_DEVICES];
	int num = list_devices(devices, max < UMAD_DEVICES ? max : UMAD_DEVICES);

	for (int i = 0; i < num; i++)
		memcpy(names[i], devices[i].name, UMAD_NAME_BYTES);
	return num;
}

/* Rates are in whole Gb/s, rounded down, as the kernel's text begins. */
static unsigned int rate_of(const struct ib_port_attr *attr)
{
	static const struct {
		ib_speed speed;
		unsigned int mbps;
	} lanes[] = { { IB_SPEED_SDR, 2500 },    { IB_SPEED_DDR, 5000 },  { IB_SPEED_QDR, 10000 },
		      { IB_SPEED_FDR10, 10000 }, { IB_SPEED_FDR, 14000 }, { IB_SPEED_EDR, 25000 },
		      { IB_SPEED_HDR, 50000 },   { IB_SPEED_NDR, 100000 } };
	static const struct {
		ib_width width;
		unsigned int lanes;
	} widths[] = { { IB_WIDTH_1X, 1 },
		       { IB_WIDTH_2X, 2 },
		       { IB_WIDTH_4X, 4 },
		       { IB_WIDTH_8X, 8 },
		       { IB_WIDTH_12X, 12 } };
	unsigned int mbps = 0, number = 1;

	for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
		if (lanes[i].speed == attr->active_speed)
			mbps = lanes[i].mbps;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (widths[i].width == attr->active_width)
			number = widths[i].lanes;
	return mbps * number / 1000;
}

static int read_pkeys(const struct device *device, const struct ib_port_attr *attr,
		      struct umad_port *port)
{
	port->pkeys = calloc(attr->pkey_tbl_len ? attr->pkey_tbl_len : 1, sizeof(*port->pkeys));
	if (!port->pkeys)
		return -ENOMEM;
	port->num_pkeys = attr->pkey_tbl_len;
	for (uint32_t i = 0; i < attr->pkey_tbl_len; i++)
		al_query_pkey(device->ca, (uint8_t)port->number, i, &port->pkeys[i]);
	return 0;
}

static int read_port(const struct device *device, int number, struct umad_port *port)
{
	struct ib_port_attr attr;
	al_status status = al_query_port(device->ca, (uint8_t)number, &attr);

	if (status)
		return umad_errno(status);
	*port = (struct umad_port){
		.number = number,
		.base_lid = attr.lid,
		.lmc = attr.lmc,
		.sm_lid = attr.sm_lid,
		.sm_sl = attr.sm_sl,
		.state = attr.state,
		.phys_state = attr.phys_state,
		.rate = rate_of(&attr),
		.cap_mask = ib_be32_of(attr.cap_mask),
		.gid_prefix = ib_be64_of(attr.subnet_prefix),
		.port_guid = ib_be64_of(attr.port_guid),
	};
	memcpy(port->ca_name, device->name, sizeof(port->ca_name));
	strcpy(port->link_layer,
	       attr.link_layer == IB_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	return read_pkeys(device, &attr, port);
}

EXPORT int umad_get_port(const char *ca_name, int number, struct umad_port *port)
{
	struct device device;
	int error = device_find(ca_name, &number, &device);

	return error ? error : read_port(&device, number, port);
}

EXPORT int umad_release_port(struct umad_port *port)
{
	free(port->pkeys);
	port->pkeys = NULL;
	port->num_pkeys = 0;
	return 0;
}

EXPORT int umad_release_ca(struct umad_ca *ca)
{
	for (int i = 0; i < UMAD_PORTS; i++)
		if (ca->ports[i]) {
			umad_release_port(ca->ports[i]);
			free(ca->ports[i]);
			ca->ports[i] = NULL;
		}
	return 0;
}

/* Reads the ports of a device, as many as struct umad_ca has room for; of a switch port 0. */
static int read_ports(const struct device *device, const struct ib_ca_attr *attr,
		      struct umad_ca *ca)
{
	const bool is_switch = attr->node_type == IB_NODE_SWITCH;
	int error = 0;

	ca->num_ports = attr->num_ports < UMAD_PORTS ? (int)attr->num_ports : UMAD_PORTS - 1;
	if (is_switch)
		ca->num_ports = 0;
	for (int i = !is_switch; !error && i <= ca->num_ports; i++) {
		ca->ports[i] = calloc(1, sizeof(*ca->ports[i]));
		error = ca->ports[i] ? read_port(device, i, ca->ports[i]) : -ENOMEM;
	}
	if (error)
		umad_release_ca(ca);
	return error;
}

EXPORT int umad_get_ca(const char *ca_name, struct umad_ca *ca)
{
	struct device device;
	struct ib_ca_attr attr;
	int number = 0, error = device_find(ca_name, &number, &device);

	if (error)
		return error;
	if (al_query_ca(device.ca, &attr))
		return -ENODEV;
	*ca = (struct umad_ca){
		.node_type = attr.node_type == IB_NODE_SWITCH ? IB_NODE_SWITCH : IB_NODE_CA,
		.node_guid = ib_be64_of(attr.node_guid),
		.system_guid = ib_be64_of(attr.sys_image_guid),
	};
	memcpy(ca->name, device.name, sizeof(ca->name));
	snprintf(ca->fw_ver, sizeof(ca->fw_ver), "%.19s", attr.fw_ver);
	snprintf(ca->type, sizeof(ca->type), "ibal %.32s", attr.location);
	snprintf(ca->hw_ver, sizeof(ca->hw_ver), "%x", attr.hw_ver);
	return read_ports(&device, &attr, ca);
}

EXPORT int umad_get_ca_portguids(const char *ca_name, ib_be64 *guids, int max)
{
	struct umad_ca ca;
	int error = umad_get_ca(ca_name, &ca), num;

	if (error)
		return error;
	num = ca.num_ports + 1;
	if (guids && num > max)
		num = -ENOMEM;
	for (int i = 0; guids && i < num; i++)
		guids[i] = ca.ports[i] ? ca.ports[i]->port_guid : ib_be64_of(0);
	umad_release_ca(&ca);
	return num;
}

/* -------------------------------------------------------------- lists of names */

EXPORT void umad_free_ca_device_list(struct umad_device_node *head)
{
	struct umad_device_node *next;

	for (; head; head = next) {
		next = head->next;
		free(head);
	}
}

EXPORT struct umad_device_node *umad_get_ca_device_list(void)
{
	struct device devices[UMAD_DEVICES];
	struct umad_device_node *head = NULL, *node;

	for (int i = list_devices(devices, UMAD_DEVICES); i--;) {
		node = calloc(1, sizeof(*node) + UMAD_NAME_BYTES);
		if (!node) {
			umad_free_ca_device_list(head);
			errno = ENOMEM;
			return NULL;
		}
		memcpy(node + 1, devices[i].name, UMAD_NAME_BYTES);
		node->name = (const char *)(node + 1);
		node->next = head;
		head = node;
	}
	return head;
}

static int compare_nodes(const void *a, const void *b)
{
	struct umad_device_node *const *one = a, *const *other = b;

	return strcmp((*one)->name, (*other)->name);
}

EXPORT int umad_sort_ca_device_list(struct umad_device_node **head, size_t size)
{
	struct umad_device_node **nodes, *node = *head;
	size_t num = 0;

	for (; node; node = node->next)
		num++;
	if (size && size != num)
		return EINVAL;
	if (num < 2)
		return 0;
	nodes = calloc(num, sizeof(struct umad_device_node *));
	if (!nodes)
		return ENOMEM;
	node = *head;
	for (size_t i = 0; i < num; i++, node = node->next)
		nodes[i] = node;
	qsort(nodes, num, sizeof(struct umad_device_node *), compare_nodes);
	for (size_t i = 0; i < num; i++)
		nodes[i]->next = i + 1 < num ? nodes[i + 1] : NULL;
	*head = nodes[0];
	free(nodes);
	return 0;
}
