#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Each mutant of test/mutants/*.txt can still be made: a change of its place mends it in the same commit.
set -eu

exec "${top_srcdir:?is set by make check}/test/mutants/run" --fit
