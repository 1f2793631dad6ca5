/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Subnet management packets that a port's own agents have carried out: the upcall ib_mad_seen(),
 * and the events of what those packets have changed (SAS, deviation 5). A packet's content is
 * compared with that of the packet before, and decides about events only.
 */
#include <iba/ib_mad.h>
#include <string.h>

#include "al/event/async.h"

/*
 * dev_port.seen: the addresses of the last Set(PortInfo). Bit 63: the addresses are known; from bit
 * 0 on: LID and LMC, LID and service level of the subnet manager.
 */
#define SEEN      (1ull << 63)
#define LMC_SHIFT 16
#define SM_SHIFT  32
#define SL_SHIFT  48
#define LID_BITS  0xffffffffull
#define SM_BITS   (0xffffffffull << SM_SHIFT & ~SEEN)

static uint64_t word_of(const struct ib_port_info *info)
{
	return SEEN | ib_be16_get(info->lid) | (uint64_t)ib_port_info_lmc(info) << LMC_SHIFT |
	       (uint64_t)ib_be16_get(info->master_sm_lid) << SM_SHIFT |
	       (uint64_t)ib_port_info_master_sm_sl(info) << SL_SHIFT;
}

/* Raises the events of a Set(PortInfo). If the values before are unknown, every value counts as
 * changed. */
static void port_info_seen(struct al_dev *dev, uint8_t num, const struct ib_smp *smp)
{
	struct dev_port *port = &dev->ports[num];
	struct ib_port_info info;
	uint64_t prefix, was, now;

	memcpy(&info, smp->data, sizeof(info));
	now = word_of(&info);
	prefix = atomic_exchange(&port->seen_prefix, ib_be64_get(info.gid_prefix));
	was = atomic_exchange(&port->seen, now);
	if (!was || (was ^ now) & LID_BITS)
		dev_raise(dev, IB_EVENT_LID_CHANGE, num);
	if (!was || prefix != ib_be64_get(info.gid_prefix))
		dev_raise(dev, IB_EVENT_GID_CHANGE, num);
	if (!was || (was ^ now) & SM_BITS)
		dev_raise(dev, IB_EVENT_SM_CHANGE, num);
	if (ib_port_info_client_reregister(&info))
		dev_raise(dev, IB_EVENT_CLIENT_REREGISTER, num);
}

/* Raises the events of a Set that port num has received. The attribute modifier comes from the
 * subnet, so it may name any port. */
static void set_seen(struct al_dev *dev, uint8_t num, const struct ib_smp *smp)
{
	uint32_t attr_mod = ib_be32_get(smp->attr_mod);

	switch (ib_be16_get(smp->attr_id)) {
	case IB_SMP_PORT_INFO:
		attr_mod &= ~IB_PORT_INFO_MOD_EXT_SPEEDS;
		if (!attr_mod)
			attr_mod = num;
		if (dev_has_end_port(dev, attr_mod)) /* of a switch, port 0 alone has addresses */
			port_info_seen(dev, (uint8_t)attr_mod, smp);
		return;
	case IB_SMP_GUID_INFO:
		dev_raise(dev, IB_EVENT_GID_CHANGE, num);
		return;
	case IB_SMP_PKEY_TABLE:
		if (!dev_is_switch(dev) || !(attr_mod >> 16))
			dev_raise(dev, IB_EVENT_PKEY_CHANGE, num);
		return;
	default:
		return;
	}
}

/* The reason for which a call of ib_mad_seen() is dropped; NULL: there is none. */
static const char *why_wrong(const struct al_dev *dev, uint32_t port, uint32_t length)
{
	if (!dev_has_end_port(dev, port))
		return "a port that has no management agents";
	if (dev->ports[port].ci_caps & CI_PORT_SMA_IN_AL)
		return "a port whose subnet management agent is the Access Layer's";
	return length == IB_MAD_BYTES ? NULL : "a datagram that has not 256 bytes";
}

static void seen(struct al_dev *dev, uint8_t port, const struct ib_smp *smp, uint32_t length)
{
	const char *wrong = why_wrong(dev, port, length);

	if (wrong) {
		ib_log(IB_LOG_ERROR, "al",
		       "ib_mad_seen: module %s told of %s (port %u, %u bytes); the call is dropped",
		       dev->module, wrong, port, length);
		return;
	}
	if (smp->base_version != IB_MAD_BASE_VERSION || smp->method != IB_METHOD_SET ||
	    (smp->mgmt_class != IB_CLASS_SUBN_LID && smp->mgmt_class != IB_CLASS_SUBN_DIR))
		return;
	set_seen(dev, port, smp);
}

void ib_mad_seen(void *ca_ctx, uint8_t port, const void *mad, uint32_t length)
{
	struct ci_registration *reg = ca_ctx;
	struct al_dev *dev;

	if (!reg || reg->no_object || !mad) {
		ib_log(IB_LOG_ERROR, "al", "ib_mad_seen: a module passed %s; the call is dropped",
		       !reg             ? "NULL instead of the ctx of an HCA"
		       : reg->no_object ? "the ctx of an object instead of an HCA's"
					: "NULL instead of a datagram");
		return;
	}
	rcu_enter(); /* as in ib_dispatch_event() */
	dev = atomic_load(&reg->al);
	if (dev)
		seen(dev, port, mad, length);
	rcu_leave();
}
