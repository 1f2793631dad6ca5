# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Doxygen's input filter for headers: writes out each enum that comes from an X-macro list, one documented
# value per row of the list, and the accessors of each list of bit fields, so that they have their text in the
# documentation too. A list itself and its comment are left out. Lines keep their numbers, since warnings quote them.

# Prints a line. The lines of a comment wait for the line after it, which tells whether the comment is a list's.
function emit(line) {
	if (line ~ /^\/\*\*([^<]|$)/)
		waiting = 1
	if (waiting) {
		held[++holds] = line
		if (line ~ /\*\/$/)
			waiting = 0
		return
	}
	if (line ~ /^#define [A-Z0-9_]+_(LIST|BITS)\(X\)/)
		dropping = 1
	release(dropping)
	print dropping ? "" : line
	if (line !~ /\\$/)
		dropping = 0
}

function release(empty, i) {
	for (i = 1; i <= holds; i++)
		print empty ? "" : held[i]
	holds = 0
}

END { release(0) }

# A list: remember its rows, X(NAME, VALUE, "TEXT"...), by the list's name.
/^#define [A-Z0-9_]+_LIST\(X\)/ {
	list = $2
	sub(/\(.*/, "", list)
}
list != "" && match($0, /X\([A-Z0-9_]+, [0-9A-Fa-fx]+, "[^"]*"/) {
	split(substr($0, RSTART + 2, RLENGTH - 2), field, ", ")
	text = substr($0, RSTART, RLENGTH - 1)
	sub(/^[^"]*"/, "", text)
	count[list]++
	name[list, count[list]] = field[1]
	value[list, count[list]] = field[2]
	comment[list, count[list]] = text
}
list != "" && !/\\$/ { list = "" }

# The macro that makes a value of a row is not for readers.
/^#define IBA_[A-Z]+_(VALUE|BIT)\(/ {
	emit("")
	next
}

# The list's use in an enum.
match($0, /[A-Z0-9_]+_LIST\(IBA_[A-Z]+_(VALUE|BIT)\)/) {
	before = substr($0, 1, RSTART - 1)
	use = substr($0, RSTART, RLENGTH)
	after = substr($0, RSTART + RLENGTH)
	shift = use ~ /_BIT\)$/ ? "1 << " : ""
	sub(/\(.*/, "", use)
	line = before
	for (i = 1; i <= count[use]; i++)
		line = line name[use, i] " = " shift value[use, i] ", /**< " comment[use, i] " */ "
	emit(line after)
	next
}

# Bit fields, X(layout, field, offset, width, "text"), and their accessors.
/^#define IB_[A-Z0-9_]+_BITS\(X\)/ {
	bits = $2
	sub(/\(.*/, "", bits)
}
bits != "" && match($0, /X\([a-z0-9_]+, [a-z0-9_]+, [0-9]+, [0-9]+, "[^"]*"/) {
	split(substr($0, RSTART + 2, RLENGTH - 2), field, ", ")
	text = substr($0, RSTART, RLENGTH - 1)
	sub(/^[^"]*"/, "", text)
	call = field[1] "_" field[2]
	set = field[1] "_set_" field[2]
	accessors[bits] = accessors[bits] \
		"/** Bit field of struct " field[1] ": " text ". @param p layout @return value */ " \
		"uint32_t " call "(const struct " field[1] " *p); " \
		"/** Sets what " call "() reads. @param p layout @param value its low " field[4] " bits */ " \
		"void " set "(struct " field[1] " *p, uint32_t value); "
}
bits != "" && !/\\$/ { bits = "" }
match($0, /^IB_[A-Z0-9_]+_BITS\(IBA_BITS_ACCESSORS\)/) {
	sub(/\(.*/, "")
	emit(accessors[$0])
	next
}

# What the compiler checks is not for readers.
/^IBA_CHECK\(/ {
	emit("")
	next
}

{ emit($0) }
