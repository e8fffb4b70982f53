// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's formats of printf(), and other messages of both back ends. */
#include <stdio.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/list.h>
#undef snprintf

/* One conversion that the C library knows: @spec is complete, "%5llu" say. */
static int convert(char *buf, size_t size, const char *spec, va_list *ap)
{
	char type = spec[strlen(spec) - 1];
	bool wide = strpbrk(spec, "lz");

	if (type == '%')
		return snprintf(buf, size, "%%");
	if (type == 's' || type == 'p')
		return snprintf(buf, size, spec, va_arg(*ap, void *));
	if (wide)
		return snprintf(buf, size, spec, va_arg(*ap, long));
	return snprintf(buf, size, spec, va_arg(*ap, int));
}

static int uuid(char *buf, size_t size, const unsigned char *u)
{
	return snprintf(buf, size, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8],
			u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

int kl_vsnprintf(char *buf, size_t size, const char *fmt, va_list args)
{
	char dummy[1], spec[16];
	size_t n = 0, len;
	va_list ap;

	va_copy(ap, args);
	for (; *fmt; fmt += len) {
		char *to = n < size ? buf + n : dummy;
		size_t room = n < size ? size - n : 0;

		len = strcspn(fmt, "%");
		if (len) {
			n += snprintf(to, room, "%.*s", (int)len, fmt);
		} else if (!strncmp(fmt, "%pV", 3)) {
			struct va_format *f = va_arg(ap, struct va_format *);

			n += kl_vsnprintf(to, room, f->fmt, *f->va);
			len = 3;
		} else if (!strncmp(fmt, "%pU", 3)) {
			n += uuid(to, room, va_arg(ap, const unsigned char *));
			len = 3;
		} else if (!strncmp(fmt, "%pg", 3)) {
			(void)va_arg(ap, void *);
			n += snprintf(to, room, "%s", kl_disk_name);
			len = 3;
		} else {
			len = 2 + strcspn(fmt + 1, "diuxXscp%");
			memcpy(spec, fmt, len);
			spec[len] = 0;
			n += convert(to, room, spec, &ap);
		}
	}
	va_end(ap);
	return n;
}

int kl_snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = kl_vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

void kl_list_bad(const struct list_head *l)
{
	kl_fail("list is broken at %p", (const void *)l);
}
