"""Keeps an inverted index and computes BM25. Its oracle is tests/oracles/lexical.py:
change both.

How it is small: a posting is 4 bytes (24 bits row, 8 bits frequency), the only posting of a rare term stands in its
slot. How it is exact: a removed row keeps its postings and is left out when a list is read, from the term's document
frequency too.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython cimport final
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from _postings cimport MOST_OFTEN, Slot, holds, idf_of, list_of, live_of, place_of, posting_of, score_slot, widen
from _types cimport count_set

from struct import Struct

__all__ = ["MAX_ROWS", "TERM", "Postings", "tally"]

cdef enum:
    TERM_BYTES = 12  # hash (uint64), frequency (uint16), reserved (uint16)
    ROW_BITS = 24
    MOST_ROWS = 16_777_216
    MOST_LENGTH = 65_535
    FIRST_SLOTS = 1024  # a power of two
    LIST_BYTES = 12
    PIECE = 4_194_304

MAX_ROWS = MOST_ROWS
TERM = Struct("<QHH")
MAGIC = b"CGL\x02"
HEAD = Struct("<4sIQ")  # magic, rows, terms: never renumber
LIST = Struct("<QI")  # hash, postings


@final
cdef class Postings:
    """Postings and document lengths of rows 0, 1, ... Not thread-safe; ``score`` gives the GIL up."""

    cdef Slot* slots
    cdef Py_ssize_t n_slots  # a power of two, at least 1.5 times the terms
    cdef Py_ssize_t n_terms
    cdef Py_ssize_t n_postings
    cdef uint16_t* length
    cdef Py_ssize_t n_rows, room
    cdef object owner  # of the lists that are only borrowed

    def __cinit__(self):
        self.slots = <Slot*>calloc(FIRST_SLOTS, sizeof(Slot))
        if self.slots is NULL:
            raise MemoryError
        self.n_slots = FIRST_SLOTS

    def __dealloc__(self):
        self._free()

    cdef void _free(self) noexcept:
        cdef Py_ssize_t i
        if self.slots is not NULL:
            for i in range(self.n_slots):
                if self.slots[i].room > 1:
                    free(self.slots[i].block)
            free(self.slots)
        free(self.length)
        self.slots = NULL
        self.length = NULL

    def __len__(self):
        return self.n_rows

    @property
    def terms(self):
        """Distinct terms, those of removed rows included."""
        return self.n_terms

    @property
    def postings(self):
        """Postings, those of removed rows included."""
        return self.n_postings

    def add(self, terms):
        """Append a row with these packed terms (see TERM), each hash once; the row's number.

        Frequencies above 255 count as 255. Cost: one step a term.

        Raises:
            ValueError: Not whole terms, or more than MAX_ROWS rows.
        """
        cdef const uint8_t[::1] packed = _packed(terms)
        cdef Py_ssize_t n = packed.shape[0] // TERM_BYTES
        cdef Py_ssize_t i
        cdef Py_ssize_t total = 0
        cdef uint64_t term
        cdef uint16_t often
        if self.n_rows >= MOST_ROWS:
            raise ValueError(f"rows must be at most {MAX_ROWS}")
        self._grow_rows()
        self._grow_slots(self.n_terms + n)
        for i in range(n):
            memcpy(&term, &packed[i * TERM_BYTES], 8)
            memcpy(&often, &packed[i * TERM_BYTES + 8], 2)
            if often:
                self._append(term, posting_of(self.n_rows, often))
                total += often
        self.length[self.n_rows] = <uint16_t>(total if total < MOST_LENGTH else MOST_LENGTH)
        self.n_rows += 1
        return self.n_rows - 1

    cdef int _grow_rows(self) except -1:
        cdef Py_ssize_t room
        cdef void* moved
        if self.n_rows == self.room:
            room = self.room + self.room // 4 + 256
            moved = realloc(self.length, room * sizeof(uint16_t))
            if moved is NULL:
                raise MemoryError
            self.length = <uint16_t*>moved
            self.room = room
        return 0

    cdef int _grow_slots(self, Py_ssize_t terms) except -1:
        """Make room for that many terms in all; the table is then at most two thirds full."""
        cdef Py_ssize_t wanted = self.n_slots
        cdef Slot* old = self.slots
        cdef Slot* grown
        cdef Py_ssize_t i, at
        while wanted * 2 < terms * 3:
            wanted *= 2
        if wanted == self.n_slots:
            return 0
        grown = <Slot*>calloc(wanted, sizeof(Slot))
        if grown is NULL:
            raise MemoryError
        for i in range(self.n_slots):
            if old[i].used:
                at = place_of(grown, wanted, old[i].term)
                grown[at] = old[i]
        free(old)
        self.slots = grown
        self.n_slots = wanted
        return 0

    cdef int _append(self, uint64_t term, uint32_t posting) except -1:
        cdef Slot* slot = &self.slots[place_of(self.slots, self.n_slots, term)]
        if slot.used == 0:
            slot.term = term
            slot.used = 1
            slot.room = 1
            list_of(slot)[0] = posting
            self.n_terms += 1
        else:
            if slot.used >= slot.room:
                widen(slot, slot.used + slot.used // 2 + 1)
            slot.block[slot.used] = posting
            slot.used += 1
        self.n_postings += 1
        return 0

    def totals(self, live):
        """(live rows, sum of their lengths)."""
        cdef const uint8_t[::1] alive = self._alive(live)
        cdef Py_ssize_t rows = 0, total = 0
        cdef Py_ssize_t i
        with nogil:
            for i in range(self.n_rows):
                rows += alive[i] != 0
                total += self.length[i] if alive[i] else 0
        return rows, total

    def shares(self, terms, live, rows):
        """For each of these rows (uint32) the idf-weighted share of the terms that it holds, in [0, 1].

        A term that no live row holds counts in the whole, with the highest idf.
        """
        cdef const uint64_t[::1] wanted = terms
        cdef const uint8_t[::1] alive = self._alive(live)
        cdef const uint32_t[::1] asked = rows
        cdef Py_ssize_t n = asked.shape[0]
        cdef Py_ssize_t i, j
        cdef Py_ssize_t living
        cdef double idf
        cdef double total = 0.0
        cdef Slot* slot
        held = [0.0] * n
        living = self._living(alive)
        for i in range(wanted.shape[0]):
            slot = &self.slots[place_of(self.slots, self.n_slots, wanted[i])]
            idf = idf_of(living, live_of(slot, &alive[0], living == self.n_rows) if slot.used else 0)
            total += idf
            for j in range(n):
                if slot.used and holds(slot, asked[j]):
                    held[j] += idf
        return [share / total for share in held] if total > 0.0 else held

    cdef Py_ssize_t _living(self, const uint8_t[::1] alive) noexcept:
        return count_set(&alive[0], self.n_rows) if self.n_rows else 0

    def idfs(self, terms, live):
        """For each of these terms ln(1 + (n - m + 0.5) / (m + 0.5)): n live rows, m of them with the term."""
        cdef const uint64_t[::1] wanted = terms
        cdef const uint8_t[::1] alive = self._alive(live)
        cdef Py_ssize_t i
        cdef Py_ssize_t living = self._living(alive)
        cdef Slot* slot
        found = []
        for i in range(wanted.shape[0]):
            slot = &self.slots[place_of(self.slots, self.n_slots, wanted[i])]
            found.append(idf_of(living, live_of(slot, &alive[0], living == self.n_rows) if slot.used else 0))
        return found

    def few(self, terms, live, uint32_t most, uint32_t dead):
        """How many of these packed terms (see TERM) have one to ``most`` live rows.

        Args:
            dead: How many rows are not live. A term in more than ``most + dead`` rows needs no reading.

        Cost: at most ``most + dead`` postings a term are read, one if there are no more than ``most``.

        Raises:
            ValueError: Not whole terms, or ``live`` is too short.
        """
        cdef const uint8_t[::1] packed = _packed(terms)
        cdef const uint8_t[::1] alive = self._alive(live)
        cdef Py_ssize_t i
        cdef uint32_t j, held
        cdef uint64_t term
        cdef const uint32_t* block
        cdef Slot* slot
        cdef Py_ssize_t found = 0
        if self.n_rows == 0:
            return 0
        with nogil:
            for i in range(packed.shape[0] // TERM_BYTES):
                memcpy(&term, &packed[i * TERM_BYTES], 8)
                slot = &self.slots[place_of(self.slots, self.n_slots, term)]
                block = list_of(slot)
                if slot.used > most and slot.used - most > dead:
                    continue  # even if all the dead rows were among them
                held = 0
                for j in range(slot.used):
                    held += alive[block[j] >> 8] != 0
                    if held > most or (held and slot.used <= most):
                        break
                found += 0 < held <= most
        return found

    def score(self, terms, weights, live, double rows, double mean_length, double k1, double b, scores):
        """Add each term's BM25 share to the scores of its live rows; the number of terms that had any.

        A share is weight * ln(1 + (rows - df + 0.5) / (df + 0.5)) * tf * (k1 + 1) /
        (tf + k1 * (1 - b + b * length / mean_length)), df and tf over live rows.

        Args:
            terms: Hashes, uint64.
            weights: One float a term.
            live: One byte a row.
            rows: Live rows, mean_length: their mean length in terms.
            scores: Floats, one a row at least, added to.

        Raises:
            ValueError: Buffers that don't fit each other.
        """
        cdef const uint64_t[::1] wanted = terms
        cdef const float[::1] weight = weights
        cdef const uint8_t[::1] alive = self._alive(live)
        cdef float[::1] out = scores
        cdef Py_ssize_t i
        cdef int found = 0
        cdef bint all_live
        cdef Slot* slot
        if weight.shape[0] != wanted.shape[0]:
            raise ValueError(f"weights must have {wanted.shape[0]} values, got {weight.shape[0]}")
        if out.shape[0] < self.n_rows:
            raise ValueError(f"scores must have {self.n_rows} values, got {out.shape[0]}")
        if self.n_rows == 0 or mean_length <= 0.0:
            return 0
        with nogil:
            all_live = count_set(&alive[0], self.n_rows) == self.n_rows
            for i in range(wanted.shape[0]):
                slot = &self.slots[place_of(self.slots, self.n_slots, wanted[i])]
                if slot.used:
                    found += score_slot(
                        slot, self.length, &alive[0], all_live, rows, mean_length, k1, b, weight[i], &out[0]
                    )
        return found

    def mark(self, terms, float value, out):
        """Write the value to every row (dead or live) that holds one of the terms."""
        cdef const uint64_t[::1] wanted = terms
        cdef float[::1] marked = out
        cdef Slot* slot
        cdef const uint32_t* block
        cdef Py_ssize_t i
        cdef uint32_t j
        if marked.shape[0] < self.n_rows:
            raise ValueError(f"out must have {self.n_rows} values, got {marked.shape[0]}")
        with nogil:
            for i in range(wanted.shape[0]):
                slot = &self.slots[place_of(self.slots, self.n_slots, wanted[i])]
                block = list_of(slot)
                for j in range(slot.used):
                    marked[block[j] >> 8] = value

    cdef const uint8_t[::1] _alive(self, object live):
        cdef const uint8_t[::1] alive = live
        if alive.shape[0] < self.n_rows:
            raise ValueError(f"live must have {self.n_rows} values, got {alive.shape[0]}")
        return alive

    def kept(self, live):
        """A copy with the live rows alone, renumbered in their order. Cost: one pass over all postings."""
        cdef const uint8_t[::1] alive
        cdef Postings other = Postings()
        cdef uint32_t* number
        cdef Py_ssize_t i, j
        cdef uint32_t posting
        cdef uint32_t* block
        if self.n_rows == 0:
            return other
        alive = self._alive(live)
        number = <uint32_t*>malloc(self.n_rows * sizeof(uint32_t))
        if number is NULL:
            raise MemoryError
        try:
            for i in range(self.n_rows):
                number[i] = <uint32_t>other.n_rows
                if alive[i]:
                    other._grow_rows()
                    other.length[other.n_rows] = self.length[i]
                    other.n_rows += 1
            for i in range(self.n_slots):
                if self.slots[i].used:
                    other._grow_slots(other.n_terms + 1)
                    block = list_of(&self.slots[i])
                    for j in range(self.slots[i].used):
                        posting = block[j]
                        if alive[posting >> 8]:
                            other._append(self.slots[i].term, (number[posting >> 8] << 8) | (posting & MOST_OFTEN))
        finally:
            free(number)
        return other

    def to_bytes(self):
        """All postings, in no particular order of the terms; load_bytes reads them."""
        return b"".join(self.parts())

    def parts(self):
        """The bytes of to_bytes, in pieces of at most some megabytes: a snapshot needs no copy of everything.

        Nothing may change meanwhile.
        """
        cdef Py_ssize_t first = 0
        cdef Py_ssize_t last
        yield HEAD.pack(MAGIC, self.n_rows, self.n_terms)
        yield PyBytes_FromStringAndSize(<char*>self.length, self.n_rows * sizeof(uint16_t))
        yield bytes(2 * (self.n_rows & 1))  # lists begin at a multiple of 4 bytes
        while first < self.n_slots:
            last = first
            piece = self._lists_from(first, &last)
            first = last
            yield piece

    cdef bytes _lists_from(self, Py_ssize_t first, Py_ssize_t* last):
        """Lists of the slots from ``first`` on until they fill a piece; ``last`` is where to go on."""
        cdef Py_ssize_t size = 0
        cdef Py_ssize_t i = first
        cdef Slot* slot
        cdef bytes piece
        cdef char* out
        while i < self.n_slots and size < PIECE:
            if self.slots[i].used:
                size += LIST_BYTES + self.slots[i].used * <Py_ssize_t>sizeof(uint32_t)
            i += 1
        last[0] = i
        piece = PyBytes_FromStringAndSize(NULL, size)
        out = PyBytes_AS_STRING(piece)
        for i in range(first, last[0]):
            slot = &self.slots[i]
            if slot.used:
                memcpy(out, &slot.term, 8)
                memcpy(out + 8, &slot.used, 4)
                memcpy(out + LIST_BYTES, list_of(slot), slot.used * sizeof(uint32_t))
                out += LIST_BYTES + slot.used * sizeof(uint32_t)
        return piece

    def load_bytes(self, packed):
        """Replace all by what to_bytes gave.

        Raises:
            ValueError: Not such bytes; then nothing is changed.
        """
        cdef const uint8_t[::1] view = packed
        cdef Postings other = Postings()
        other._load(view, False)
        self._take(other)

    def borrow(self, packed):
        """As ``load_bytes``, but the compiled one reads lists where they are, and copies one when it grows.

        So these bytes must stay as they are: a mapping of a file does, and takes no memory for lists that
        nobody asks for.
        """
        cdef const uint8_t[::1] view = packed
        cdef Postings other = Postings()
        other._load(view, True)
        other.owner = memoryview(packed)
        self._take(other)

    cdef void _take(self, Postings other) noexcept:
        self.owner, other.owner = other.owner, self.owner
        self.slots, other.slots = other.slots, self.slots
        self.n_slots, other.n_slots = other.n_slots, self.n_slots
        self.length, other.length = other.length, self.length
        self.n_terms, self.n_postings = other.n_terms, other.n_postings
        self.n_rows, self.room = other.n_rows, other.room

    cdef int _load(self, const uint8_t[::1] view, bint borrowed) except -1:
        cdef Py_ssize_t size = view.shape[0]
        cdef Py_ssize_t at = HEAD.size
        cdef Py_ssize_t rows, terms, i
        if size < at or bytes(view[:4]) != MAGIC:
            raise ValueError(f"not postings, or of a later version: {bytes(view[:4])!r}")
        magic, rows, wanted = HEAD.unpack_from(view)
        terms = min(wanted, size)  # a number beyond the bytes may be beyond any C number
        if rows > MOST_ROWS or (size - at) // 2 < rows + (rows & 1) or (size - at - 2 * rows) // LIST_BYTES < terms:
            raise ValueError("postings end early")
        self.length = <uint16_t*>malloc((rows + 1) * sizeof(uint16_t))
        if self.length is NULL:
            raise MemoryError
        memcpy(self.length, &view[at], rows * sizeof(uint16_t)) if rows else NULL
        at += (rows + (rows & 1)) * sizeof(uint16_t)
        self.n_rows = rows
        self.room = rows + 1
        self._grow_slots(terms)
        for i in range(terms):
            at = self._load_list(view, at, size, borrowed)
        if at != size or self.n_terms != terms:
            raise ValueError(f"{size - at} bytes after the postings, or a term twice")
        return 0

    cdef Py_ssize_t _load_list(
        self, const uint8_t[::1] view, Py_ssize_t at, Py_ssize_t size, bint borrowed
    ) except -1:
        cdef uint64_t term
        cdef uint32_t n, i
        cdef uint32_t* block
        cdef Slot* slot
        if size - at < LIST_BYTES:
            raise ValueError("postings end early")
        memcpy(&term, &view[at], 8)
        memcpy(&n, &view[at + 8], 4)
        at += LIST_BYTES
        if n == 0 or (size - at) // <Py_ssize_t>sizeof(uint32_t) < n:
            raise ValueError("postings end early")
        slot = &self.slots[place_of(self.slots, self.n_slots, term)]
        if slot.used:
            raise ValueError("a term stands twice in the postings")
        slot.term = term
        if n > 1 and borrowed:
            slot.block = <uint32_t*>&view[at]
            slot.room = 0
            block = slot.block
        else:
            if n > 1:
                widen(slot, n)
            slot.room = n
            block = list_of(slot)
            memcpy(block, &view[at], n * sizeof(uint32_t))
        slot.used = n
        for i in range(n):
            if (block[i] >> 8) >= self.n_rows or (i and (block[i] >> 8) <= (block[i - 1] >> 8)):
                raise ValueError(f"a posting names row {block[i] >> 8} of {self.n_rows}, or out of order")
        self.n_terms += 1
        self.n_postings += n
        return at + n * sizeof(uint32_t)


cdef const uint8_t[::1] _packed(object terms):
    cdef const uint8_t[::1] packed = terms
    if packed.shape[0] % TERM_BYTES:
        raise ValueError(f"terms must be a multiple of {TERM_BYTES} bytes, got {packed.shape[0]}")
    return packed


def tally(counts, items, bint add):
    """Count every item (packed uint16) in ``counts`` (uint32), or with ``add`` false take it out again.

    Returns:
        The number of items.

    Raises:
        ValueError: An item that has no count, or was not counted; earlier ones stay done.
    """
    cdef uint32_t[::1] count = counts
    cdef const uint8_t[::1] raw = items
    cdef Py_ssize_t n = raw.shape[0] // 2
    cdef Py_ssize_t known = count.shape[0]
    cdef Py_ssize_t i
    cdef uint16_t item
    if raw.shape[0] % 2:
        raise ValueError(f"items must be an even number of bytes, got {raw.shape[0]}")
    for i in range(n):
        memcpy(&item, &raw[2 * i], 2)
        if item >= known:
            raise ValueError(f"items[{i}] must be below {known}, got {item}")
        if not add and count[item] == 0:
            raise ValueError(f"items[{i}] was not counted: {item}")
        count[item] += 1 if add else -1
    return n
