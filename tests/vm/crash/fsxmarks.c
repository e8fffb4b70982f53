// SPDX-License-Identifier: GPL-2.0-only
/*
 * fsxmarks: a file after a power cut must be what it was when its fsync returned.
 *
 *	fsxmarks setup MNT WORKERS
 *	fsxmarks run MNT LOGDIR WORKERS SECONDS SEED DISK|- [DM]
 *	fsxmarks cuts LOGDIR WORKERS LAST COUNT SEED
 *	fsxmarks verify MNT LOGDIR WORKERS CUT [exactly]
 *
 * Worker k changes the file "w<k>" at random (with "d<k>" it exchanges blocks) and keeps a copy
 * of what it has to hold. When an fsync of it has returned, the worker places a mark in the
 * recording of zjdisk number DISK (and in the log of the dm-log-writes device DM) and notes what
 * the file holds. It changes nothing before it has placed a second mark: a cut in between must
 * leave exactly that content. LOGDIR/w<k>.marks has one struct note per fsync. DISK "-": no
 * recording, it only compares what it reads with what it has written. From the environment:
 *	BESIDE=aio|uring	many changes are direct writes in flight beside others
 *	DIRS=1			each worker's files are in a directory of its own, "k"
 *	UNIT=BYTES		collapse and insert ranges are multiples of this (clusters)
 *
 * "cuts" prints COUNT lines "CUT SEED", each right after a fsync or before the next change
 * of that file. "verify" compares every file that was at rest at CUT; 0: after all that
 * happened; exactly: only the file whose mark is CUT. It prints what differs, then one line
 * "digest=... files=... blocks=... bad=...". Exit 0: all well; 1: not; 2: could not run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../zjdisk/zjdisk_ioctl.h"
#include "history.h"
#include "inflight.h"
#include "note.h"
#include "rnd.h"

#define FILE_MAX	(BLOCKS * BLOCK)
#define MAX_WORKERS	64

static char have[FILE_MAX + BLOCK] __attribute__((aligned(4096)));
static char buf[FILE_MAX + BLOCK] __attribute__((aligned(4096)));
static char direct_buf[FILE_MAX + BLOCK] __attribute__((aligned(4096)));
static uint64_t size, unit = BLOCK;
static uint32_t worker, op_nr, nr_notes;
static int fd, direct_fd, donor_fd, note_fd, ctl_fd, disk;
static const char *dm, *dirs;
static enum { ALONE, AIO, URING } beside;
static struct note note;

static void die(const char *what)
{
	fprintf(stderr, "fsxmarks: w%u, operation %u: %s: %s\n", worker, op_nr, what,
		strerror(errno));
	exit(3);
}

static void must(int ok, const char *what)
{
	if (!ok)
		die(what);
}

static void path_of(char path[4096], const char *mnt, char kind, uint32_t w)
{
	if (dirs)
		snprintf(path, 4096, "%s/%u/%c%u", mnt, w, kind, w);
	else
		snprintf(path, 4096, "%s/%c%u", mnt, kind, w);
}

/* ---- marks ---- */

/* The recording ends when it is full: then this load does, too. */
static uint64_t mark(void)
{
	struct zjd_mark m = { .dev = disk };
	static uint64_t nr;

	if (disk < 0)
		return ++nr;
	if (!ioctl(ctl_fd, ZJD_IOC_MARK, &m))
		return m.seq;
	if (errno == ENOSPC || errno == ENODATA)
		exit(0);
	die("mark");
	return 0;
}

static void mark_dm(uint64_t nr)
{
	char command[128];

	snprintf(command, sizeof(command), "dmsetup message %s 0 mark %llu", dm,
		 (unsigned long long)nr);
	must(!system(command), command);
}

static void put_note(void)
{
	must(pwrite(note_fd, &note, sizeof(note), (off_t)nr_notes * sizeof(note)) ==
	     sizeof(note), "note");
}

/* The file is as an fsync left it. */
static void at_rest(void)
{
	describe(&note, have, size);
	note.from = mark();
	if (dm)
		mark_dm(note.from);
	put_note();
}

static void about_to_change(void)
{
	if (!note.from)
		return;
	note.until = mark();
	put_note();
	nr_notes++;
	note.from = 0;
}

/* ---- operations ---- */

/* A piece of the file, small ones most of the time: at most @most bytes from @at on. */
static uint64_t some_length(uint64_t most)
{
	uint64_t len = 1 + rnd(1u << (4 + rnd(14)));

	return len < most ? len : most;
}

static uint64_t down(uint64_t bytes)
{
	return bytes / BLOCK * BLOCK;
}

/* Each word says who wrote it: worker, operation, place. */
static void fill(uint64_t at, uint64_t len)
{
	uint64_t word, i;

	remember("%#llx bytes at %#llx", (unsigned long long)len, (unsigned long long)at);
	for (i = at; i < at + len; i++) {
		word = (uint64_t)(worker + 1) << 56 | (uint64_t)op_nr << 32 | i / WORD;
		buf[i - at] = word >> i % WORD * 8;
	}
}

static void changed(uint64_t at, uint64_t len)
{
	memcpy(have + at, buf, len);
	if (size < at + len)
		size = at + len;
}

static void do_write(int flags)
{
	uint64_t at = rnd(FILE_MAX - 1), len = some_length(FILE_MAX - at);
	struct iovec v = { buf, len };

	fill(at, len);
	must(pwritev2(fd, &v, 1, at, flags) == (ssize_t)len, "write");
	changed(at, len);
}

static void do_direct(void)
{
	uint64_t at = down(rnd(FILE_MAX)), len = down(some_length(FILE_MAX - at) + BLOCK - 1);

	fill(at, len);
	must(pwrite(direct_fd, buf, len, at) == (ssize_t)len, "direct write");
	changed(at, len);
}

static void set_size(uint64_t bytes)
{
	remember("size from %#llx to %#llx", (unsigned long long)size, (unsigned long long)bytes);
	must(!ftruncate(fd, bytes), "truncate");
	if (bytes < size)
		memset(have + bytes, 0, size - bytes);
	size = bytes;
}

static void store(uint64_t at, uint64_t len)
{
	char *map = mmap(NULL, FILE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	must(map != MAP_FAILED, "mmap");
	memcpy(map + at, buf, len);
	if (!rnd(4))
		must(!msync(map + down(at), at - down(at) + len, MS_SYNC), "msync");
	must(!munmap(map, FILE_MAX), "munmap");
}

static void do_mapped(void)
{
	uint64_t at = rnd(FILE_MAX - 1), len = some_length(FILE_MAX - at);

	if (size < at + len)
		set_size(at + len);
	fill(at, len);
	store(at, len);
	changed(at, len);
}

/* KEEP_SIZE or not; zeros where they are wanted, and past the end. */
static void do_fallocate(int mode)
{
	uint64_t at = rnd(FILE_MAX - 1), len = some_length(FILE_MAX - at), end = at + len;

	remember("fallocate, mode %#x, %#llx bytes at %#llx", mode, (unsigned long long)len,
		 (unsigned long long)at);
	must(!fallocate(fd, mode, at, len), "fallocate");
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE) && at < size)
		memset(have + at, 0, (end < size ? end : size) - at);
	if (!(mode & FALLOC_FL_KEEP_SIZE) && size < end)
		size = end;
}

static void do_collapse(void)
{
	uint64_t at, len;

	if (size < 2 * unit)
		return;
	at = rnd(size - unit) / unit * unit;
	len = unit * (1 + rnd((size - at - 1) / unit));
	remember("collapse %#llx bytes at %#llx", (unsigned long long)len, (unsigned long long)at);
	must(!fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, at, len), "collapse");
	memmove(have + at, have + at + len, size - at - len);
	memset(have + size - len, 0, len);
	size -= len;
}

static void do_insert(void)
{
	uint64_t at, len;

	if (!size || FILE_MAX - size < unit)
		return;
	at = rnd(size) / unit * unit;
	len = unit * (1 + rnd((FILE_MAX - size) / unit));
	remember("insert %#llx bytes at %#llx", (unsigned long long)len, (unsigned long long)at);
	must(!fallocate(fd, FALLOC_FL_INSERT_RANGE, at, len), "insert");
	memmove(have + at + len, have + at, size - at);
	memset(have + at, 0, len);
	size += len;
}

static void do_copy(void)
{
	uint64_t len, half = FILE_MAX / 2;
	off_t from, to;

	if (!size)
		return;
	from = rnd(size);
	len = some_length(size - from < half ? size - from : half);
	to = rnd(FILE_MAX - len);
	if (from < (off_t)(to + len) && to < (off_t)(from + len))
		return;
	memcpy(buf, have + from, len);
	remember("copy %#llx bytes from %#llx to %#llx", (unsigned long long)len,
		 (unsigned long long)from, (unsigned long long)to);
	must(copy_file_range(fd, &from, fd, &to, len, 0) == (ssize_t)len, "copy");
	changed(to - len, len);
}

/* As defragmentation does: blocks change places with those of a file that was synced, too. */
static void do_move(void)
{
	struct move_extent {
		uint32_t reserved, donor;
		uint64_t from, donor_from, blocks, moved;
	} move = { .donor = donor_fd };
	uint64_t len;

	if (size < BLOCK)
		return;
	move.from = rnd(size / BLOCK);
	move.donor_from = move.from;
	move.blocks = 1 + rnd(size / BLOCK - move.from);
	len = move.blocks * BLOCK;
	must(!fallocate(donor_fd, 0, 0, FILE_MAX), "fallocate of the donor");
	memset(buf, op_nr, len);
	remember("exchange of %llu blocks at %llu", (unsigned long long)move.blocks,
		 (unsigned long long)move.from);
	must(!rnd(2) || (pwrite(donor_fd, buf, len, move.from * BLOCK) == (ssize_t)len &&
			 !fdatasync(donor_fd)), "write of the donor");
	/* There may be holes, or data=journal. */
	must(!ioctl(fd, _IOWR('f', 15, struct move_extent), &move) ||
	     errno == ENODATA || errno == EOPNOTSUPP || errno == EBUSY, "move");
}

/* ---- direct writes in flight ---- */

static uint64_t whole_pages(uint64_t most)
{
	uint64_t n = 1 + rnd(1u << rnd(7));

	return n < most ? n : most;
}

/* Two ranges of whole pages that do not overlap. */
static void two_ranges(uint64_t *a, uint64_t *a_len, uint64_t *b, uint64_t *b_len)
{
	uint64_t cut = 1 + rnd(BLOCKS - 1), low_len = whole_pages(cut);
	uint64_t high_len = whole_pages(BLOCKS - cut), low = rnd(cut - low_len + 1);
	uint64_t high = cut + rnd(BLOCKS - cut - high_len + 1);
	int swap = rnd(2);

	*a = BLOCK * (swap ? high : low);
	*a_len = BLOCK * (swap ? high_len : low_len);
	*b = BLOCK * (swap ? low : high);
	*b_len = BLOCK * (swap ? low_len : high_len);
}

/* While a direct write at @a is in flight. A write() waits for it, a store does not. */
static void do_beside(uint64_t a, uint64_t b, uint64_t b_len)
{
	uint64_t from = rnd(b_len), len = some_length(b_len - from);

	switch (rnd(4)) {
	case 0:		/* Pages of the range come back, with what they had before. */
		must(pread(fd, have + FILE_MAX, BLOCK, a) >= 0, "read beside");
		memset(have + FILE_MAX, 0, BLOCK);
		break;
	case 1:
		break;
	default:
		fill(b + from, len);
		if (b + from + len <= size && rnd(2))
			store(b + from, len);
		else
			must(pwrite(fd, buf, len, b + from) == (ssize_t)len, "write beside");
		changed(b + from, len);
	}
	if (rnd(4))
		must(!fdatasync(fd), "fdatasync beside");
}

static void written_directly(uint64_t at, uint64_t len, int64_t res)
{
	if (res != (int64_t)len) {
		errno = res < 0 ? -res : EINVAL;
		die("direct write in flight");
	}
	memcpy(have + at, direct_buf, len);
	if (size < at + len)
		size = at + len;
}

static void do_aio(void)
{
	uint64_t a, len, b, b_len;

	two_ranges(&a, &len, &b, &b_len);
	fill(a, len);
	memcpy(direct_buf, buf, len);
	must(!aio_begin(direct_fd, direct_buf, len, a), "libaio");
	do_beside(a, b, b_len);
	written_directly(a, len, aio_end());
}

/* A direct write in flight, beside a buffered one with an fsync linked to it. */
static void do_uring(void)
{
	uint64_t a, len, b, b_len;

	two_ranges(&a, &len, &b, &b_len);
	fill(a, len);
	memcpy(direct_buf, buf, len);
	fill(b, b_len);
	must(!uring_write_beside((struct piece){ direct_fd, direct_buf, len, a },
				 (struct piece){ fd, buf, b_len, b }, rnd(2)), "io_uring");
	changed(b, b_len);
	written_directly(a, len, len);
}

/* ---- what is read ---- */

static void complain(uint64_t at, int direct)
{
	int i;

	fprintf(stderr, "w%u, read %s: byte %#llx of %#llx is %02x instead of %02x\n", worker,
		direct ? "directly" : "through the cache", (unsigned long long)at,
		(unsigned long long)size, (unsigned char)buf[at], (unsigned char)have[at]);
	for (i = 0; i < 4; i++) {
		ssize_t got = pread(i % 2 ? direct_fd : fd, direct_buf, FILE_MAX + BLOCK, 0);

		fprintf(stderr, "again %s: %zd bytes, this one %02x\n",
			i % 2 ? "directly" : "through the cache", got, (unsigned char)direct_buf[at]);
	}
	say_history();
}

/* Directly, or through the page cache. */
static void check_live(void)
{
	int direct = !rnd(4);
	uint64_t i;

	must(pread(direct ? direct_fd : fd, buf, FILE_MAX + BLOCK, 0) == (ssize_t)size, "size");
	for (i = 0; i < size; i++) {
		if (buf[i] == have[i])
			continue;
		complain(i, direct);
		die("read");
	}
}

static void do_fsync(void)
{
	remember("fsync");
	must(!(rnd(2) ? fsync(fd) : fdatasync(fd)), "fsync");
	at_rest();
	check_live();
	/* What is read next comes from the disk. */
	if (!rnd(4))
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Begins to write without FUA, as write-back does at any time. */
static void do_write_back(void)
{
	remember("write-back");
	must(!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), "sync_file_range");
}

/* Then zext4 takes the file for one that is only overwritten (in_place.c), and what follows is not. */
static void do_overwrites(void)
{
	uint64_t at = rnd(FILE_MAX - BLOCK), len = some_length(BLOCK);
	uint32_t n = at + len <= size ? rnd(32) : 0;

	for (; n; n--, op_nr++) {
		fill(at, len);
		must(pwrite(fd, buf, len, at) == (ssize_t)len && !fdatasync(fd), "overwrite");
		changed(at, len);
	}
	if (!rnd(3))
		do_fallocate(0);
	do_write(rnd(2) ? RWF_DSYNC : 0);
	do_fsync();
}

static void change(void)
{
	if (beside && !rnd(3)) {
		remember(beside == AIO ? "libaio" : "io_uring");
		beside == AIO ? do_aio() : do_uring();
		return;
	}
	switch (rnd(26)) {
	case 0 ... 6: do_write(0); break;
	case 7: do_write(RWF_DSYNC); break;
	case 8: do_direct(); break;
	case 9 ... 11: do_mapped(); break;
	case 12: set_size(rnd(FILE_MAX)); break;
	case 13: do_fallocate(0); break;
	case 14: do_fallocate(FALLOC_FL_KEEP_SIZE); break;
	case 15: do_fallocate(FALLOC_FL_ZERO_RANGE); break;
	case 16: do_fallocate(FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE); break;
	case 17: do_fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE); break;
	case 18: do_collapse(); break;
	case 19: do_insert(); break;
	case 20: do_copy(); break;
	case 21: do_move(); break;
	case 22: do_overwrites(); break;
	default: do_write_back();
	}
}

/* ---- run ---- */

static void run_on_cpu(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void open_all(const char *mnt, const char *logdir)
{
	char path[4096], notes[4096];

	path_of(path, mnt, 'w', worker);
	snprintf(notes, sizeof(notes), "%s/w%u.marks", logdir, worker);
	fd = open(path, O_RDWR);
	must(fd >= 0, path);
	direct_fd = open(path, O_RDWR | O_DIRECT);
	must(direct_fd >= 0, path);
	path_of(path, mnt, 'd', worker);
	donor_fd = open(path, O_RDWR | O_CREAT, 0644);
	must(donor_fd >= 0, path);
	note_fd = open(notes, O_RDWR | O_CREAT | O_TRUNC, 0644);
	must(note_fd >= 0, notes);
	if (disk < 0)
		return;
	ctl_fd = open("/dev/zjdctl", O_RDWR);
	must(ctl_fd >= 0, "/dev/zjdctl");
}

static void work(time_t until)
{
	run_on_cpu(worker);
	while (time(NULL) < until) {
		op_nr++;
		remember("operation %u", op_nr);
		if (!rnd(64))
			run_on_cpu(rnd(MAX_WORKERS));
		if (!rnd(4) && !note.from) {
			do_fsync();
			continue;
		}
		about_to_change();
		change();
	}
	if (!note.from)
		do_fsync();
}

static int run(int argc, char **arg)
{
	uint32_t workers = atoi(arg[2]);
	time_t until = time(NULL) + atoi(arg[3]);
	int status, err = 0;

	disk = strcmp(arg[5], "-") ? atoi(arg[5]) : -1;
	dm = argc > 6 ? arg[6] : NULL;
	for (worker = 0; worker < workers; worker++) {
		if (fork())
			continue;
		rnd_state = strtoull(arg[4], NULL, 0) * 1000003 + worker;
		open_all(arg[0], arg[1]);
		work(until);
		return 0;
	}
	while (wait(&status) > 0)
		err |= status;
	return err ? 3 : 0;
}

static int setup(char **arg)
{
	uint32_t w, workers = atoi(arg[1]);
	char path[4096];

	for (w = 0; w < workers; w++) {
		snprintf(path, sizeof(path), "%s/%u", arg[0], w);
		must(!dirs || !mkdir(path, 0755), path);
		path_of(path, arg[0], 'w', w);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
		must(fd >= 0 && !fsync(fd) && !close(fd), path);
	}
	sync();
	return 0;
}

/* ---- after a cut ---- */

static struct note *load_notes(const char *logdir, uint32_t w, uint32_t *n)
{
	struct note *notes;
	char path[4096];
	struct stat st;
	FILE *in;

	snprintf(path, sizeof(path), "%s/w%u.marks", logdir, w);
	in = fopen(path, "r");
	must(in && !fstat(fileno(in), &st), path);
	*n = st.st_size / sizeof(*notes);
	notes = calloc(*n + 1, sizeof(*notes));
	must(notes && fread(notes, sizeof(*notes), *n, in) == *n, path);
	fclose(in);
	return notes;
}

static int cuts(char **arg)
{
	uint64_t last = strtoull(arg[2], NULL, 0), count = strtoull(arg[3], NULL, 0), i, cut;
	uint32_t workers = atoi(arg[1]), w, n;
	struct note *notes[MAX_WORKERS], *note;
	uint32_t nr[MAX_WORKERS], all = 0;

	rnd_state = strtoull(arg[4], NULL, 0);
	for (w = 0; w < workers; w++) {
		notes[w] = load_notes(arg[0], w, &nr[w]);
		all += nr[w];
	}
	if (!all) {
		fprintf(stderr, "fsxmarks: no fsync has returned: nothing to check\n");
		return 2;
	}
	for (i = 0; i < count; i++) {
		n = rnd(all);
		for (w = 0; n >= nr[w]; w++)
			n -= nr[w];
		note = &notes[w][n];
		cut = note->from;
		if (i % 2)
			cut += rnd((note->until ? note->until - 1 : last) - note->from + 1);
		printf("%llu %llu\n", (unsigned long long)cut,
		       (unsigned long long)(1 + rnd(1000000000)));
	}
	return 0;
}

/* "w1's operation 17, word 512": what is in a file is made of such words. */
static void say_word(const char *what, uint64_t word)
{
	printf(" %s", what);
	if (word >> 56)
		printf(" operation %u of w%u for byte %u", (unsigned int)(word >> 32) & 0xffffff,
		       (unsigned int)(word >> 56) - 1, (unsigned int)word * 8);
	else
		printf(" %llx", (unsigned long long)word);
}

static void say_block(uint32_t w, uint32_t b, const struct note *want, const struct note *found)
{
	int phys = b;

	if (ioctl(fd, FIBMAP, &phys))
		phys = 0;
	printf("BAD: w%u block %u, sector %u of the disk:", w, b, phys * (BLOCK / 512));
	say_word("has", found->word[b]);
	say_word(", must have", want->word[b]);
	printf("\n");
}

static int compare(uint32_t w, const struct note *want, const struct note *found)
{
	uint32_t b, n = 0;

	if (found->size != want->size) {
		printf("BAD: w%u has %llu bytes, must have %llu\n", w,
		       (unsigned long long)found->size, (unsigned long long)want->size);
		n++;
	}
	for (b = 0; b < blocks_of(want->size) && b < blocks_of(found->size); b++) {
		if (found->sum[b] == want->sum[b])
			continue;
		say_block(w, b, want, found);
		n++;
	}
	if (n)
		printf("BAD: w%u is not what it was at its mark %llu\n", w,
		       (unsigned long long)want->from);
	return n;
}

static const struct note *note_at(const struct note *notes, uint32_t n, uint64_t cut,
				  int exactly)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (exactly ? notes[i].from == cut :
		    notes[i].from <= cut && (!notes[i].until || cut < notes[i].until))
			return &notes[i];
	}
	return NULL;
}

static void read_file(const char *mnt, uint32_t w, struct note *found)
{
	char path[4096];
	ssize_t n;

	path_of(path, mnt, 'w', w);
	fd = open(path, O_RDONLY);
	must(fd >= 0, path);
	n = pread(fd, buf, sizeof(buf), 0);
	must(n >= 0 && n <= FILE_MAX, path);
	describe(found, buf, n);
}

static int verify(int argc, char **arg)
{
	uint32_t w, n, workers = atoi(arg[2]), files = 0, blocks = 0, bad = 0;
	uint64_t cut = strtoull(arg[3], NULL, 0), digest = 0;
	struct note found, *notes;
	const struct note *want;

	for (w = 0; w < workers; w++) {
		notes = load_notes(arg[1], w, &n);
		read_file(arg[0], w, &found);
		digest = sum_of((char *)&found, sizeof(found)) ^ digest * 3;
		want = note_at(notes, n, cut ? cut : UINT64_MAX, argc > 4);
		if (want) {
			files++;
			blocks += blocks_of(want->size);
			bad += compare(w, want, &found);
		}
		close(fd);
		free(notes);
	}
	if (!files)
		printf("BAD: no file was at rest at %llu\n", (unsigned long long)cut);
	printf("digest=%016llx files=%u blocks=%u bad=%u\n", (unsigned long long)digest, files,
	       blocks, bad);
	return bad || !files;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int least, most;
	} commands[] = { { "setup", 2, 2 }, { "run", 6, 7 }, { "cuts", 5, 5 }, { "verify", 4, 5 } };
	size_t i;

	dirs = variable("DIRS");
	if (variable("BESIDE"))
		beside = strcmp(variable("BESIDE"), "uring") ? AIO : URING;
	if (variable("UNIT"))
		unit = strtoull(variable("UNIT"), NULL, 0);
	argc -= 2;
	argv += 2;
	for (i = 0; argc > 0 && i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(argv[-1], commands[i].name) || argc < commands[i].least ||
		    argc > commands[i].most)
			continue;
		switch (i) {
		case 0: return setup(argv);
		case 1: return run(argc, argv);
		case 2: return cuts(argv);
		default: return verify(argc, argv);
		}
	}
	fprintf(stderr, "usage: fsxmarks setup MNT WORKERS\n"
		"       fsxmarks run MNT LOGDIR WORKERS SECONDS SEED DISK|- [DM]\n"
		"       fsxmarks cuts LOGDIR WORKERS LAST COUNT SEED\n"
		"       fsxmarks verify MNT LOGDIR WORKERS CUT [exactly]\n");
	return 2;
}
