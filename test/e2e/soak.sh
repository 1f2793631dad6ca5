#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Ten seeds of the soak, ten million packets each, without a violation. (make check-long; some twenty minutes.)
set -eu

exec "${top_builddir:?is set by make check}/test/soak/soak" --seed 1000 --seeds 10 --packets 10000000
