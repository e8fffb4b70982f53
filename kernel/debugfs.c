// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/zjournal/<dev>/: the journal's objects as text, to find out why a
 * journal is slow or hangs. docs/operations.md describes the files.
 *
 * Without debugfs there are no such files, and nothing else is different. An unmount waits
 * for reads that have begun, which never sleep; later reads of an open file fail.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include "debugfs.h"
#include "show/show.h"

/*
 * Bytes of one file, nearly always enough for 256 busy lanes. If the text is longer, seq_file
 * has it printed again into twice the memory.
 */
#define TEXT_SIZE	(256 * 1024)

static struct dentry *debug_root;

typedef void (*zj_printer)(struct seq_buf *out, struct zj_journal *zj);

/* The printers hold spinlocks, so the memory that they print to is allocated before. */
static int show(struct seq_file *seq, zj_printer print)
{
	struct seq_buf out;
	char *buf;
	size_t size = seq_get_buf(seq, &buf);

	seq_buf_init(&out, buf, size);
	print(&out, seq->private);
	seq_commit(seq, seq_buf_used(&out));
	return 0;
}

#define ZJ_FILE(name, print)						\
static int name##_show(struct seq_file *seq, void *unused)		\
{									\
	return show(seq, print);					\
}									\
static int name##_open(struct inode *inode, struct file *file)		\
{									\
	return single_open_size(file, name##_show, inode->i_private,	\
				TEXT_SIZE);				\
}									\
static const struct file_operations name##_fops = {			\
	.owner = THIS_MODULE,						\
	.open = name##_open,						\
	.read = seq_read,						\
	.llseek = seq_lseek,						\
	.release = single_release,					\
}

ZJ_FILE(lanes, zj_lanes_to_text);
ZJ_FILE(components, zj_components_to_text);
ZJ_FILE(waits, zj_all_waits_to_text);
ZJ_FILE(log_map, zj_log_map_to_text);
ZJ_FILE(fsync, zj_all_fsyncs_to_text);

static void add_file(struct zj_journal *zj, const char *name,
		     const struct file_operations *fops)
{
	debugfs_create_file(name, 0400, zj->debug_dir, zj, fops);
}

/**
 * zj_debugfs_add() - create a journal's files
 * @zj: the journal, loaded
 */
void zj_debugfs_add(struct zj_journal *zj)
{
	if (IS_ERR_OR_NULL(debug_root))
		return;
	zj->debug_dir = debugfs_create_dir(zj->public.j_devname, debug_root);
	add_file(zj, "lanes", &lanes_fops);
	add_file(zj, "components", &components_fops);
	add_file(zj, "waits", &waits_fops);
	add_file(zj, "log_map", &log_map_fops);
	add_file(zj, "fsync", &fsync_fops);
}

/**
 * zj_debugfs_remove() - remove a journal's files, and wait for their readers
 * @zj: the journal, with its lanes
 */
void zj_debugfs_remove(struct zj_journal *zj)
{
	debugfs_remove(zj->debug_dir);
	zj->debug_dir = NULL;
}

void __init zj_debugfs_init(void)
{
	debug_root = debugfs_create_dir("zjournal", NULL);
}

void zj_debugfs_exit(void)
{
	debugfs_remove(debug_root);
}
