// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjdisk-test: tests zjdisk itself, in the guest.  Needs zjdisk.ko with ndev=2
 * or more, unused.  Prints "ok ..." and "not ok ..." lines; exit 1 if any is
 * not ok.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../zjdisk/zjdisk_ioctl.h"

#define SECTOR	512
#define LARGE	16	/* sectors of the write that shall tear */
#define SEEDS	48

static int ctl_fd, nfailed;
static char buf[LARGE * SECTOR] __attribute__((aligned(4096)));

static void check(int ok, const char *text)
{
	printf("%sok zjdisk: %s\n", ok ? "" : "not ", text);
	nfailed += !ok;
}

/* One command; 0 or the error. */
static int ctl(const char *fmt, ...)
{
	char line[128];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	return write(ctl_fd, line, n) == n ? 0 : errno;
}

static unsigned long long mark(void)
{
	struct zjd_mark m = { .dev = 0 };

	if (ioctl(ctl_fd, ZJD_IOC_MARK, &m)) {
		perror("zjdisk-test: ZJD_IOC_MARK");
		exit(2);
	}
	return m.seq;
}

static int open_disk(int nr, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/zjd%d", nr);
	fd = open(path, O_RDWR | flags);
	if (fd < 0) {
		perror(path);
		exit(2);
	}
	return fd;
}

/* Sectors full of a letter; O_DSYNC becomes FUA. 0 or the error. */
static int put(int sector, int count, char letter, int flags)
{
	int fd = open_disk(0, O_DIRECT | flags), err = 0;

	memset(buf, letter, sizeof(buf));
	if (pwrite(fd, buf, count * SECTOR, sector * SECTOR) != count * SECTOR)
		err = errno;
	close(fd);
	return err;
}

/* The letter in a sector; '?' if several, '!' if it cannot be read. */
static char get(int nr, int sector)
{
	int fd = open_disk(nr, O_DIRECT), i;
	ssize_t n = pread(fd, buf, SECTOR, sector * SECTOR);

	close(fd);
	if (n != SECTOR)
		return '!';
	for (i = 1; i < SECTOR; i++)
		if (buf[i] != buf[0])
			return '?';
	return buf[0];
}

static int flush(void)
{
	int fd = open_disk(0, 0), err = fsync(fd) ? errno : 0;

	close(fd);
	return err;
}

/* Do many seeds show exactly these letters in the sector after this cut? */
static int sees(unsigned long long cut, int sector, const char *letters, int lie)
{
	int count[256] = { 0 }, seed, seen = 0, i;
	size_t found = 0;

	for (seed = 1; seed <= SEEDS; seed++) {
		if (ctl("1 rebuild 0 %llu %d %d", cut, seed, lie))
			return 0;
		count[(unsigned char)get(1, sector)]++;
	}
	for (i = 0; i < 256; i++)
		seen += count[i] > 0;
	for (i = 0; letters[i]; i++)
		found += count[(unsigned char)letters[i]] > 0;
	return found == strlen(letters) && seen == (int)found;
}

/* Of SEEDS seeds, how many leave only a part of the large write? */
static int torn(unsigned long long cut, int whole)
{
	int seed, s, kept, n = 0;

	for (seed = 1; seed <= SEEDS; seed++) {
		if (ctl("1 rebuild 0 %llu %d 0 %d", cut, seed, whole))
			return -1;
		for (s = kept = 0; s < LARGE; s++)
			kept += get(1, 16 + s) == 'd';
		n += kept > 0 && kept < LARGE;
	}
	return n;
}

static void fresh(int cache, int fua)
{
	if (ctl("0 record clear") || ctl("0 fail off") || ctl("0 power on") ||
	    ctl("0 latency 0 0 0") || ctl("0 cache %d %d", cache, fua) ||
	    ctl("0 fill 0x7171717171717171") || ctl("0 record on")) {
		fprintf(stderr, "zjdisk-test: zjd0 cannot be prepared: is it in use?\n");
		exit(2);
	}
}

static void test_cuts(void)
{
	unsigned long long t[5];

	fresh(1, 1);
	put(3, 1, 'a', 0);
	check(get(0, 2) == 'q' && get(0, 3) == 'a' && get(0, 4) == 'q',
	      "a sector is written, its neighbours stay");
	t[0] = mark();
	put(3, 1, 'b', 0);
	t[1] = mark();
	flush();
	t[2] = mark();
	put(3, 1, 'c', 0);
	put(16, LARGE, 'd', 0);
	t[3] = mark();
	check(ctl("1 rebuild 0 1 1") && ctl("0 cache 1 1") && ctl("0 fill 1"),
	      "no rebuild and no new settings while recording");
	ctl("0 record off");
	check(ctl("1 rebuild 0 %llu 1", t[3] + 1), "no cut after the end of the recording");
	check(ctl("1 rebuild 1 1 1"), "no rebuild from what was not recorded");
	check(sees(t[0], 3, "qa", 0), "an unflushed write is there or not");
	check(sees(t[1], 3, "qab", 0), "two unflushed writes: any of them or none");
	check(sees(t[2], 3, "b", 0), "a flushed write is there, the older one is not");
	check(sees(t[3], 3, "bc", 0), "after the flush: what was flushed or newer");
	check(sees(t[2], 3, "qab", 1), "a disk that ignores flushes loses it");
	check(sees(t[2], 3, "qab", 4), "a disk that ignores the last flush loses it");
	check(torn(t[3], 0) > 0, "a large write can be torn");
	check(torn(t[3], 17) == 0, "but not where writes are to stay whole");
	check(get(0, 3) == 'c', "the recorded disk is as it was");
}

/*
 * A write takes three numbers: start, data, end.  The flush that O_DSYNC on a
 * disk, or a disk without FUA, sends after it takes two more.
 */
static void test_cache_modes(void)
{
	unsigned long long t;

	fresh(1, 1);
	put(3, 1, 'a', 0);
	t = mark();
	put(8, 1, 'b', O_DSYNC);
	ctl("0 record off");
	check(sees(t + 2, 8, "qb", 0), "an FUA write under way is there or not");
	check(sees(t + 3, 8, "b", 0), "a finished FUA write is there");
	check(sees(t + 3, 3, "qa", 0), "FUA covers nothing else");
	check(sees(t + 5, 3, "a", 0), "the flush after it does");
	check(sees(t + 3, 8, "qb", 2), "a disk that ignores FUA loses the write");
	fresh(1, 0);
	t = mark();
	put(8, 1, 'b', O_DSYNC);
	ctl("0 record off");
	check(sees(t + 4, 8, "qb", 0) && sees(t + 5, 8, "b", 0),
	      "FUA is a write and a flush where the disk has no FUA");
	check(sees(t + 5, 8, "qb", 1), "a disk that ignores flushes loses that");
	fresh(0, 0);
	put(3, 1, 'a', 0);
	t = mark();
	ctl("0 record off");
	check(sees(t, 3, "a", 0), "without a cache a finished write is durable");
}

/* First page that differs from @page on; -1: none, -2: an error. */
static long long differs(int a, int b, unsigned long long page)
{
	struct zjd_diff d = { .dev = { a, b }, .page = page };

	if (ioctl(ctl_fd, ZJD_IOC_DIFF, &d))
		return errno == ENODATA ? -1 : -2;
	return d.page;
}

static void test_diff(void)
{
	int fd;

	fresh(1, 1);
	ctl("0 record off");
	ctl("1 fill 0x7171717171717171");
	check(differs(0, 1, 0) == -1, "disks of the same contents are the same");
	put(3, 1, 'q', 0);
	check(differs(0, 1, 0) == -1, "also where it was written twice");
	put(19, 1, 'a', 0);
	put(8, 1, 'b', 0);
	check(differs(0, 1, 0) == 1 && differs(1, 0, 2) == 2 && differs(0, 1, 3) == -1,
	      "each page that differs is found");
	fd = open_disk(0, 0);
	check(differs(0, 1, 0) == -2 && differs(1, 1, 0) == -2 && differs(0, 99, 0) == -2,
	      "disks in use are not compared");
	close(fd);
}

static void test_errors(void)
{
	unsigned long long t;
	int fd;

	fresh(1, 1);
	ctl("0 fail write 1 1");
	check(!put(8, 1, 'a', 0) && put(9, 1, 'b', 0) == EIO && !put(10, 1, 'c', 0) &&
	      get(0, 9) == 'q', "one write passes, one fails, one passes");
	ctl("0 fail off");
	ctl("0 fail write 0 99 16 23");
	check(!put(15, 1, 'e', 0) && put(16, 1, 'e', 0) == EIO && put(22, 4, 'e', 0) == EIO &&
	      !put(24, 1, 'e', 0) && get(0, 22) == 'q', "writes to a range fail");
	ctl("0 fail off");
	ctl("0 fail flush");
	check(flush() == EIO && !put(8, 1, 'f', 0), "flushes fail, writes do not");
	ctl("0 fail off");
	ctl("0 fail read");
	check(get(0, 8) == '!' && !put(8, 1, 'g', 0), "reads fail, writes do not");
	ctl("0 fail off");
	check(!flush() && get(0, 8) == 'g', "then all is well again");
	put(40, 1, 'x', 0);
	t = mark();
	ctl("0 power off");
	check(put(40, 1, 'y', 0) == EIO && flush() == EIO && get(0, 40) == '!',
	      "without power everything fails");
	check(!ctl("0 rebuild 0 %llu 1", t) && get(0, 8) == 'g' && !put(40, 1, 'z', 0),
	      "a rebuild into the same disk turns the power on");
	ctl("0 record clear");
	fd = open_disk(0, 0);
	check(ctl("0 fill 1") == EBUSY && ctl("1 copy 0") == EBUSY, "a disk in use is left alone");
	close(fd);
	check(!ctl("1 copy 0") && get(1, 40) == 'z', "a copy has the content");
}

/* What zjd0 has been asked to write so far, in requests */
static int asked(void)
{
	FILE *f = fopen("/dev/zjdctl", "r");
	char line[400], *at;

	if (!f || !fgets(line, sizeof(line), f)) {
		perror("/dev/zjdctl");
		exit(2);
	}
	fclose(f);
	at = strstr(line, " writes=");
	return at ? atoi(at + strlen(" writes=")) : 0;
}

/* Recorded writes of zjd0 in the order of their sectors: when each was submitted and done */
static void times_of(const int *sectors, int count, unsigned long long (*times)[2])
{
	FILE *f = fopen("/sys/kernel/debug/zjdisk/0", "r");
	unsigned long long submit, done;
	char line[200];
	int sector, i;

	while (f && fgets(line, sizeof(line), f))
		for (i = 0; i < count; i++)
			if (sscanf(line, "write %llu %*u %llu sector=%d", &submit, &done, &sector) == 3 &&
			    sector == sectors[i]) {
				times[i][0] = submit;
				times[i][1] = done;
			}
	if (f)
		fclose(f);
}

#define FAR	4

/*
 * Writes by a process each, in this order, while the head is on its way to the first one; again if it
 * came there too early.
 */
static void write_at_once(int depth, unsigned long long (*times)[2])
{
	static const int sectors[FAR] = { 100000, 30000, 20000, 40000 };
	int i, n;

	do {
		fresh(0, 0);
		if (ctl("0 stats") || ctl("0 head 1000000 100 %d", depth)) {
			check(0, "a head that sorts");
			return;
		}
		for (i = 0; i < FAR; i++) {
			if (!fork()) {
				put(sectors[i], 8, 's', 0);
				_exit(0);
			}
			for (n = 0; n < 1000 && asked() <= i; n++)
				usleep(1000);
		}
		while (wait(NULL) > 0)
			;
		ctl("0 record off");
		memset(times, 0, FAR * sizeof(*times));
		times_of(sectors, FAR, times);
	} while (times[0][1] < times[depth - 1][0]);
	ctl("0 head 0 0");
}

static void test_head(void)
{
	unsigned long long t[FAR][2];
	int fd, i, j, more = 0;

	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	write_at_once(FAR, t);
	check(t[0][1] && t[0][1] < t[2][1] && t[2][1] < t[1][1] && t[1][1] < t[3][1],
	      "a head that sorts takes the lowest, then what lies ahead");
	write_at_once(2, t);
	for (i = 0; i < FAR; i++) {
		int beside = 0;

		for (j = 0; j < FAR; j++)
			beside += t[j][0] <= t[i][0] && t[i][0] < t[j][1];
		more += beside > 2;
	}
	check(t[0][1] && !more && t[0][1] < t[1][1], "it takes no more requests than configured");
	check(get(0, 100007) == 's' && get(0, 20000) == 's' && get(0, 40008) == 'q', "and writes what it should");
	fd = open_disk(0, 0);
	check(ctl("0 head 1 1 1") == EBUSY && !ctl("0 head 1 1") && !ctl("0 head 0 0") && ctl("0 head 0 0 1") == EINVAL,
	      "it does not begin to sort while in use");
	close(fd);
}

int main(void)
{
	ctl_fd = open("/dev/zjdctl", O_RDWR);
	if (ctl_fd < 0) {
		perror("/dev/zjdctl (is zjdisk.ko loaded?)");
		return 2;
	}
	test_cuts();
	test_cache_modes();
	test_diff();
	test_errors();
	test_head();
	return nfailed ? 1 : 0;
}
