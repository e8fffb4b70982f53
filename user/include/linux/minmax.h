/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_MINMAX_H
#define ZJ_USER_LINUX_MINMAX_H

#define min(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); \
		     (void)(&_a == &_b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); \
		     (void)(&_a == &_b); _a > _b ? _a : _b; })
#define min3(a, b, c)		min(min(a, b), c)
#define min_not_zero(a, b)						\
({									\
	__auto_type __a = (a);						\
	__auto_type __b = (b);						\
									\
	!__a ? __b : !__b ? __a : min(__a, __b);			\
})
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp_t(type, v, lo, hi) \
	min_t(type, max_t(type, v, lo), hi)

#endif
