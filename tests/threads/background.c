// SPDX-License-Identifier: GPL-2.0-only
/* What goes on beside the workers: write-back, reclaim, freezing, looking. */
#include "stress.h"

static void flush_something(struct job *job)
{
	u32 block = 1 + thr_below(&job->rand, FIRST_ALLOC + NR_ALLOC - 1);
	struct folio *folio = fs.file[block % NR_FILE]->b_folio;

	switch (thr_below(&job->rand, 6)) {
	case 0: case 1:
		if (buf_reclaim(fs.disk, block))
			count(&fs.promises->reclaimed);
		break;
	case 2:
		page_write(&fs.alloc[block % NR_ALLOC].page);
		break;
	case 3:
		folio_lock(folio);
		folio_write_back(folio);
		zj_journal_try_to_free_buffers(fs.journal, folio);
		folio_unlock(folio);
		break;
	default:
		buf_write_back(fs.disk, block);
		break;
	}
}

/* Write-back and reclaim, in bursts. */
int flusher(void *arg)
{
	struct job job = { .rand.state = fs.p.seed * 257 + 3 };
	u32 n;

	while (!READ_ONCE(fs.stop)) {
		schedule_timeout_uninterruptible(1);
		for (n = thr_below(&job.rand, 32); n; n--)
			flush_something(&job);
	}
	return 0;
}

/* A task that reads the journal's state meanwhile, as debugfs does. */
int looker(void *arg)
{
	static char text[256 * 1024];
	struct seq_buf out;

	while (!READ_ONCE(fs.stop)) {
		schedule_timeout_uninterruptible(1);
		seq_buf_init(&out, text, sizeof(text));
		zj_journal_to_text(&out, to_zj(fs.journal));
		if (!strstr(text, "lane 0:"))
			kl_fail("there is no lane in the text");
	}
	return 0;
}

/* Freeze and thaw: no handle open; now and then everything home, the log clean. */
int barrier_task(void *arg)
{
	struct job job = { .rand.state = fs.p.seed * 251 + 7 };
	u32 units[MAX_THREADS];
	int err = 0;

	while (!READ_ONCE(fs.stop) && !is_journal_aborted(fs.journal)) {
		schedule_timeout_uninterruptible(5 + thr_below(&job.rand, 20));
		zj_journal_lock_updates(fs.journal);
		if (READ_ONCE(fs.open_handles) && !is_journal_aborted(fs.journal))
			kl_fail("handles are open under the barrier");
		snapshot(units, fs.stopped);
		/* A super block that cannot be written is the caller's error, no abort. */
		if (thr_one_in(&job.rand, 2) &&
		    !(err = zj_journal_flush(fs.journal, 0))) {
			promise(units);
			if (READ_ONCE(to_zj(fs.journal)->live))
				kl_fail("the log is live after a flush");
		} else if (err && !fs.p.fail_write) {
			dead(&job, err);
		}
		err = 0;
		zj_journal_unlock_updates(fs.journal);
		count(&fs.promises->barriers);
	}
	return 0;
}
