/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Texts for classes, methods, statuses and attributes of datagrams. */
#include <arpa/inet.h>

#include "al/compat/umad/umad.h"

#define EXPORT __attribute__((visibility("default")))

#define ROW(name, value, text) { value, text },
#define UNKNOWN                "unknown"

struct row {
	unsigned int value;
	const char *text;
};

static const struct row classes[] = { IB_MAD_CLASS_LIST(ROW){ 0, NULL } };
static const struct row methods[] = { IB_MAD_METHOD_LIST(ROW){ 0, NULL } };
static const struct row smp_attributes[] = { IB_SMP_ATTR_LIST(ROW){ 0, NULL } };
static const struct row sa_attributes[] = { IB_SA_ATTR_LIST(ROW){ 0, NULL } };
static const struct row perf_attributes[] = { IB_PERF_ATTR_LIST(ROW){ 0, NULL } };
static const struct row cm_attributes[] = { IB_CM_ATTR_LIST(ROW){ 0, NULL } };

static const char *text_of(const struct row *rows, unsigned int value)
{
	while (rows->text && rows->value != value)
		rows++;
	return rows->text ? rows->text : UNKNOWN;
}

EXPORT const char *umad_class_str(uint8_t mgmt_class)
{
	if (mgmt_class > IB_CLASS_VENDOR_1_FIRST && mgmt_class < IB_CLASS_VENDOR_1_LAST)
		return "vendor";
	if (mgmt_class > IB_CLASS_VENDOR_2_FIRST && mgmt_class < IB_CLASS_VENDOR_2_LAST)
		return "vendor with OUI";
	return text_of(classes, mgmt_class);
}

EXPORT const char *umad_method_str(uint8_t mgmt_class, uint8_t method)
{
	(void)mgmt_class; /* a method has one name in all classes */
	return text_of(methods, method);
}

/* IBTA 13.4.7: bits 0 and 1, then a code in bits 2 to 4. */
EXPORT const char *umad_common_mad_status_str(uint16_t status)
{
	static const char *const codes[] = {
		"success",
		"base version or class version is not supported",
		"method is not supported",
		"method and attribute are not supported together",
		UNKNOWN,
		UNKNOWN,
		UNKNOWN,
		"a field of the attribute or its modifier has an invalid value",
	};
	const uint16_t value = ntohs(status);

	if (value & 1)
		return "busy";
	return value & 2 ? "redirection is required" : codes[value >> 2 & 7];
}

/* IBTA 15.2.3: the upper byte. */
EXPORT const char *umad_sa_mad_status_str(uint16_t status)
{
	static const char *const codes[] = {
		"success",
		"out of resources",
		"request is invalid",
		"there are no records",
		"there are too many records",
		"GID is invalid",
		"components are missing",
		"request is denied",
		"priority is proposed",
	};
	const unsigned int code = ntohs(status) >> 8;

	return code < sizeof(codes) / sizeof(codes[0]) ? codes[code] : UNKNOWN;
}

EXPORT const char *umad_attribute_str(uint8_t mgmt_class, uint16_t attribute)
{
	static const struct {
		uint8_t mgmt_class;
		const struct row *rows;
	} of[] = {
		{ IB_CLASS_SUBN_LID, smp_attributes }, { IB_CLASS_SUBN_DIR, smp_attributes },
		{ IB_CLASS_SUBN_ADM, sa_attributes },  { IB_CLASS_PERF, perf_attributes },
		{ IB_CLASS_CM, cm_attributes },
	};

	for (unsigned int i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (of[i].mgmt_class == mgmt_class)
			return text_of(of[i].rows, ntohs(attribute));
	return UNKNOWN;
}
