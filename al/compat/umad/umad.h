/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The interface of libibumad, version 3, as its binary programs know it: structs, constants and
 * functions. The replacement lets the distribution's OpenSM and infiniband-diags use the HCAs of an
 * agent. Fields whose type is ib_be* are in network byte order; the others are the machine's. An
 * ib_be* has the alignment of a byte, hence _Alignas.
 */
#ifndef AL_COMPAT_UMAD_UMAD_H
#define AL_COMPAT_UMAD_UMAD_H

#include <stddef.h>
#include <stdint.h>

#include <iba/ib_mad.h>

#define UMAD_NAME_BYTES 20 /* name of a device, with its zero byte */
#define UMAD_PORTS      10 /* pointers of struct umad_ca; the index is a port's number */
#define UMAD_AGENTS     32 /* agents of an open port */
#define UMAD_DEVICES    32 /* devices that programs know at most */

/* Address of a datagram's destination, or of its sender. */
struct umad_address {
	ib_be32 qpn, qkey;
	ib_be16 lid;
	uint8_t sl, path_bits;
	uint8_t grh_present, gid_index, hop_limit, traffic_class;
	uint8_t gid[16];
	ib_be32 flow_label;
	uint16_t pkey_index;
	uint8_t reserved[6];
};

/* What precedes a datagram in a program's buffer. */
struct umad_buffer {
	uint32_t agent_id;
	uint32_t status; /* received: 0, or ETIMEDOUT for a request that comes back without an
			    answer */
	uint32_t timeout_ms;
	uint32_t retries;
	uint32_t length; /* received: bytes of this struct and of the datagram */
	struct umad_address address;
	uint8_t mad[];
};
_Static_assert(sizeof(struct umad_address) == 44 && sizeof(struct umad_buffer) == 64,
	       "libibumad's layout");

struct umad_port {
	char ca_name[UMAD_NAME_BYTES];
	int number;
	unsigned int base_lid, lmc, sm_lid, sm_sl, state, phys_state;
	unsigned int rate; /* Gb/s */
	ib_be32 cap_mask;
	_Alignas(8) ib_be64 gid_prefix;
	ib_be64 port_guid;
	unsigned int num_pkeys;
	uint16_t *pkeys;
	char link_layer[UMAD_NAME_BYTES];
};
_Static_assert(offsetof(struct umad_port, cap_mask) == 52 &&
		       offsetof(struct umad_port, pkeys) == 80,
	       "libibumad's layout");

struct umad_ca {
	char name[UMAD_NAME_BYTES];
	unsigned int node_type;
	int num_ports;
	char fw_ver[20];
	char type[40];
	char hw_ver[20];
	_Alignas(8) ib_be64 node_guid;
	ib_be64 system_guid;
	struct umad_port *ports[UMAD_PORTS];
};

_Static_assert(offsetof(struct umad_ca, node_guid) == 112 &&
		       sizeof(struct umad_ca) == 128 + UMAD_PORTS * sizeof(void *),
	       "libibumad's layout");

struct umad_device_node {
	struct umad_device_node *next;
	const char *name;
};

enum { UMAD_USER_RMPP = 1 }; /* umad_registration.flags: the program does RMPP itself */

struct umad_registration {
	uint8_t mgmt_class, class_version;
	uint32_t flags;
	uint64_t methods[2];
	uint32_t oui;
	uint8_t rmpp_version;
};

#define UMAD_METHOD_LONGS (16 / sizeof(long))

/* Functions return 0 or a count or number, and a negative errno after a failure, unless the comment
 * says otherwise. */
int umad_init(void);
int umad_done(void);
int umad_debug(int level);

int umad_get_cas_names(char names[][UMAD_NAME_BYTES], int max);
int umad_get_ca_portguids(const char *ca_name, ib_be64 *guids, int max);
int umad_get_ca(const char *ca_name, struct umad_ca *ca);
int umad_release_ca(struct umad_ca *ca);
int umad_get_port(const char *ca_name, int number, struct umad_port *port);
int umad_release_port(struct umad_port *port);
int umad_get_issm_path(const char *ca_name, int number, char *path, int max);
struct umad_device_node *umad_get_ca_device_list(void);
void umad_free_ca_device_list(struct umad_device_node *head);
int umad_sort_ca_device_list(struct umad_device_node **head, size_t size); /* returns an errno */

int umad_open_port(const char *ca_name, int number);
int umad_close_port(int port_id);
int umad_get_fd(int port_id);
int umad_register(int port_id, int mgmt_class, int class_version, uint8_t rmpp_version,
		  const long methods[UMAD_METHOD_LONGS]);
int umad_register_oui(int port_id, int mgmt_class, uint8_t rmpp_version, const uint8_t oui[3],
		      const long methods[UMAD_METHOD_LONGS]);
int umad_register2(int port_id, const struct umad_registration *attr,
		   uint32_t *agent_id); /* returns an errno */
int umad_unregister(int port_id, int agent_id);
int umad_send(int port_id, int agent_id, void *buffer, int length, int timeout_ms, int retries);
int umad_recv(int port_id, void *buffer, int *length, int timeout_ms);
int umad_poll(int port_id, int timeout_ms);

size_t umad_size(void);
void *umad_get_mad(void *buffer);
struct umad_address *umad_get_mad_addr(void *buffer);
int umad_status(void *buffer);
int umad_set_grh(void *buffer, const void *address);
int umad_set_pkey(void *buffer, int index);
int umad_get_pkey(void *buffer);
int umad_set_addr(void *buffer, int dlid, int qpn, int sl, int qkey);
/* dlid, qpn, qkey, status and attribute are in network byte order. */
int umad_set_addr_net(void *buffer, uint16_t dlid, uint32_t qpn, int sl, uint32_t qkey);
void umad_addr_dump(const struct umad_address *address);
void umad_dump(const void *buffer);

const char *umad_class_str(uint8_t mgmt_class);
const char *umad_method_str(uint8_t mgmt_class, uint8_t method);
const char *umad_common_mad_status_str(uint16_t status);
const char *umad_sa_mad_status_str(uint16_t status);
const char *umad_attribute_str(uint8_t mgmt_class, uint16_t attribute);

#endif
