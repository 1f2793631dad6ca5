/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What card.c and connect.c have in common. */
#ifndef AL_CONNECT_CONNECT_H
#define AL_CONNECT_CONNECT_H

#include <iba/ib_connect.h>

/* Checks every value of a card, which may come from a wire. whose: "mine" or "peer", for the
 * reason. AL_INVALID_PARAMETER. */
al_status card_check(const struct al_qp_card *card, const char *whose);

#endif
