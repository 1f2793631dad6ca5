/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The packet parser. The first byte chooses the framing, and whether the CRCs are corrected first, because hardly any
 * change would pass them. A decoded packet that is encoded and decoded again must be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "hca/soft/packet/wire.h"

#define ROCE 1
#define SEAL 2

/* Compares the bytes of payloads, not their addresses. */
static int same(const struct wire_packet *a, const struct wire_packet *b)
{
	struct wire_packet x = *a, y = *b;

	x.payload = y.payload = NULL;
	return !memcmp(&x, &y, sizeof(x)) &&
	       (!a->length || !memcmp(a->payload, b->payload, a->length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t once[WIRE_MAX_BYTES], twice[WIRE_MAX_BYTES], *bytes;
	enum wire_framing framing;
	struct wire_packet p, q;
	size_t len;

	if (!size)
		return 0;
	framing = *data & ROCE ? WIRE_ROCE4 : WIRE_IB;
	bytes = malloc(size); /* exactly the packet's size, so that a sanitizer sees a read beyond */
	if (!bytes)
		return 0;
	size--;
	memcpy(bytes, data + 1, size);
	if (*data & SEAL)
		wire_seal(framing, bytes, size);
	if (wire_decode(&p, framing, bytes, size) == WIRE_OK) {
		len = wire_encode(&p, once, sizeof(once));
		if (!len || len > size || wire_decode(&q, framing, once, len) != WIRE_OK ||
		    !same(&p, &q) || wire_encode(&q, twice, sizeof(twice)) != len ||
		    memcmp(once, twice, len))
			abort();
	}
	free(bytes);
	return 0;
}
