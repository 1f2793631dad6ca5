#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The software HCA's tests and the soak over a second link (test/link/queue_link.c), which copies packets one by one into
a queue of the far port, where they wait until that port is polled, as between processes and hosts. Some tests also run
with doorbells: there a descriptor tells the engine's reactor that packets have come.

Every unit test of hca/soft that makes queue pairs runs with that link. OTHERWISE names the tests of rules that only the
loop link has, each with its reason; every other test must pass. Then the soak plays some seeds, narrow and wide.
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2])).resolve()
build = Path(os.environ.get("top_builddir", top / "build")).resolve()
SCALE = int(os.environ.get("CK_TIMEOUT_MULTIPLIER", "1"))  # sanitizers are slow: "make check" says so
environment = dict(os.environ, CK_VERBOSITY="verbose", srcdir=str(top), top_srcdir=str(top),
                   top_builddir=str(build), CK_TIMEOUT_MULTIPLIER=str(5 * SCALE))
PACKETS = str(200000 if SCALE == 1 else 20000)
SOAKS = [("queue", "--seed", "1"), ("queue", "--seed", "1000"), ("queue", "--seed", "1", "--wide"),
         ("queue", "--seed", "1000", "--wide"), ("doorbell", "--seed", "1002", "--wide")]

BY_TRAIN = "counts trains, steps or answers of messages that travel as one train"
AT_ONCE = "expects that a sender's request completes when the receiver has executed it"
CLIENT = "expects that a sender is told when the peer's client takes its time, which a wire can not tell"
OTHERWISE = {
    "corner_test": {
        "a_pause_that_ends_before_it_is_looked_at_is_no_longer_than_it_was": BY_TRAIN,
        "a_packet_held_back_comes_after_so_many_packets_of_a_long_message": BY_TRAIN,
    },
    "bugclass_unreliable_test": {
        "arithmetic_iova_plus_length_overflows": AT_ONCE,
        "protocol_responder_length_checks": AT_ONCE,
        "addresses_loopback_by_the_default_gid": AT_ONCE,
    },
    "errand_test": {
        "what_goes_to_a_clients_memory_does_so_on_its_thread": CLIENT,
        "a_copy_that_fails_is_told_as_what_it_was_for": CLIENT,
        "a_copy_without_memory_counts_as_a_lost_packet": CLIENT,
        "after_a_piece_that_fails_no_more_is_copied": CLIENT,
        "a_queue_pair_goes_on_after_copies_that_were_left": CLIENT,
        "a_queue_pair_waits_until_its_client_has_fewer_buffers": CLIENT,
        "a_request_that_waits_for_a_copy_holds_no_buffer_of_its_sender": CLIENT,
    },
    "fault_test": {
        "a_held_packet_is_overtaken": BY_TRAIN,
        "trains_are_split_only_where_a_packet_is_met": BY_TRAIN,
    },
    "firmware_test": {
        "a_flood_from_the_subnet_is_dropped": "floods the far agents, which here get what the far port's queue has room for",
    },
    "manual_test": {
        "a_step_sends_at_most_one_train": BY_TRAIN,
        "a_choice_picks_who_is_run": "counts what is runnable, and ports are runnable here, too",
    },
    "rc_test": {
        "a_nak_that_comes_twice_is_one_retry": BY_TRAIN,
        "a_train_of_packets_is_answered_by_one_ack": BY_TRAIN,
    },
    "uc_error_test": {
        "a_message_longer_than_its_receive_is_dropped_and_the_receive_serves_the_next": BY_TRAIN,
        "after_a_failed_send_none_succeeds_and_none_fails_by_itself": AT_ONCE,
    },
    "ud_test": {"a_queue_pair_sends_to_itself": AT_ONCE},
}
WITHOUT_QUEUE_PAIRS = {"config_test", "explain_test", "reactor_test", "wire_test"}
WITH_DOORBELL = ["load_test", "rc_test", "shortcut_test", "transfer_test"]
RESULT = re.compile(r"^[^:\n]+:\d+:([PFE]):[^:\n]*:(\w+):\d+:(.*)$", re.M)
errors = []


def over(link):
    return dict(environment, IBAL_TEST_LINK=link)


def run(name, link="queue"):
    program = build / "test/unit/hca/soft" / name
    done = subprocess.run([program], env=over(link), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return name, done.stdout


def judge(name, output):
    """Returns the number of tests that passed, and of tests that were left out."""
    passed, otherwise = set(), set()
    failed = {}
    for result, test, text in RESULT.findall(output):
        if test in OTHERWISE.get(name, {}):
            otherwise.add(test)
        elif result == "P":
            passed.add(test)
        else:
            failed.setdefault(test, text.strip())
    if not passed:
        errors.append(f"{name} ran no test: {output.strip()[-300:]}")
    for test, text in failed.items():
        errors.append(f"{name}: {test}: {text}")
    if failed:  # what a sanitizer has to say stands before Check's results
        errors.append(f"{name} printed:\n{output.strip()[-6000:]}")
    for test in set(OTHERWISE.get(name, {})) - otherwise:
        errors.append(f"OTHERWISE names {test} of {name}, which did not run")
    return len(passed - set(failed)), len(otherwise)


def soak(link, *arguments):
    command = [build / "test/soak/soak", "--quick", "--packets", PACKETS, *arguments]
    done = subprocess.run(command, env=over(link), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode or "no violation" not in done.stdout:
        errors.append(f"soak over {link} {' '.join(arguments)}: {done.stdout.strip()[-400:]}")
    return done.stdout.strip().splitlines()[-1:]


names = sorted(path.stem for path in (top / "test/unit/hca/soft").glob("*_test.c") if path.stem not in WITHOUT_QUEUE_PAIRS)
if "IBAL_MUTANTS" in environment:  # "make check" has built them all; a mutant's build has not
    programs = [f"test/unit/hca/soft/{name}" for name in names] + ["test/soak/soak"]
    subprocess.run(["make", "-s", "-C", build, *programs], env=environment, check=True)
with ThreadPoolExecutor(os.cpu_count()) as pool:
    for name, output in pool.map(run, names):
        good, otherwise = judge(name, output)
        print(f"{name}: {good} tests passed" + (f", {otherwise} not looked at" if otherwise else ""))
    for name, output in pool.map(lambda name: run(name, "doorbell"), WITH_DOORBELL):
        good, otherwise = judge(name, output)
        print(f"{name} with doorbells: {good} tests passed" + (f", {otherwise} not looked at" if otherwise else ""))
    for lines in pool.map(lambda arguments: soak(*arguments), SOAKS):
        print(*lines)
for tests in OTHERWISE.values():
    for test, reason in tests.items():
        print(f"not looked at: {test}: {reason}")
for error in errors:
    print("WRONG:", error)
sys.exit(bool(errors))
