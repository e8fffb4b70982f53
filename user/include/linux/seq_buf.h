/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that is printed to memory and never overruns it. */
#ifndef ZJ_USER_LINUX_SEQ_BUF_H
#define ZJ_USER_LINUX_SEQ_BUF_H

#include <stdarg.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <klayer/bug.h>

/**
 * struct seq_buf - memory that text is appended to
 */
struct seq_buf {
	char	*buffer;	/* the text; ends with a 0 after each seq_buf_printf() */
	size_t	size;		/* bytes of it */
	size_t	len;		/* bytes used, without the 0; above @size: text was cut off */
};

static inline void seq_buf_init(struct seq_buf *s, char *buf, unsigned int size)
{
	*s = (struct seq_buf){ .buffer = buf, .size = size };
	if (size)
		buf[0] = 0;
}

static inline bool seq_buf_has_overflowed(struct seq_buf *s)
{
	return s->len > s->size;
}

static inline unsigned int seq_buf_used(struct seq_buf *s)
{
	return min(s->len, s->size);
}

/* As in the kernel: the piece that does not fit is left out as a whole. */
static inline __printf(2, 3)
int seq_buf_printf(struct seq_buf *s, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (s->len >= s->size) {
		s->len = s->size + 1;
		return -1;
	}
	va_start(ap, fmt);
	n = kl_vsnprintf(s->buffer + s->len, s->size - s->len, fmt, ap);
	va_end(ap);
	if (s->len + n < s->size) {
		s->len += n;
		return 0;
	}
	s->len = s->size + 1;
	return -1;
}

#endif
