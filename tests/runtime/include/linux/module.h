/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_MODULE_H
#define ZJ_RUNTIME_LINUX_MODULE_H

#define EXPORT_SYMBOL_GPL(x)	struct kl_module_unused

#endif
