#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Each mutant of test/mutants/*.txt still fits: a commit that changes the quoted text also changes the mutant.
set -eu

exec "${top_srcdir:?is set by make check}/test/mutants/run" --fit
