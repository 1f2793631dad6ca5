/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A fuzz target is a function that takes any bytes. libFuzzer calls the function, or main.c with each file of the
 * corpus.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
