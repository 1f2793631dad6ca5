#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Ten seeds of the soak, ten million packets each, without a violation; three of them in wide episodes. (make check-long;
# some twenty minutes.)
set -eu

soak=${top_builddir:?is set by make check}/test/soak/soak
"$soak" --seed 1000 --seeds 7 --packets 10000000
"$soak" --seed 1007 --seeds 3 --packets 10000000 --wide
