#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The tests find the bugs of test/mutants/*.txt. (make check-long; it builds the whole tree.)
set -eu

exec "${top_srcdir:?is set by make check}/test/mutants/run"
