// SPDX-License-Identifier: GPL-2.0-only
// Rules: R6, E10.
//
// R6: the first blocks of a page may be allocated while there are none for the others until
// a commit frees some. Stock ext4 does not send such a page, and yet its first blocks are
// reachable with that commit, because unwritten extents are converted all the same. So the
// allocated part of the page is sent, and the next round begins with this page again. This is
// done after any error: even if the page is dropped, its first blocks must not keep
// their old contents.
//
// Newer kernels do this themselves after errors that may pass; there the rest remains.
//
// expect: inode.c: -=1 mpage_map_and_submit_extent=9 mpage_release_unused_pages=1 mpage_prepare_extent_to_map=1 | mpage_map_and_submit_extent=2

@@
typedef pgoff_t;
@@
struct mpage_da_data {
 ...
 pgoff_t last_page;
+ bool zj_part;
 ...
};

@@
identifier mpd, progress, handle, err, sb;
expression e;
typedef handle_t;
@@
mpage_map_and_submit_extent(handle_t *handle, struct mpage_da_data *mpd, ...)
{
<...
 if (ext4_forced_shutdown(sb))
	goto invalidate_dirty_pages;
+ if (progress) {
+	struct folio *folio = filemap_get_folio(mpd->inode->i_mapping, mpd->first_page);
+
+	if (!mpage_submit_folio(mpd, folio)) {
+		mpd->zj_part = 1;
+		folio_unlock(folio);
+	}
+	folio_put(folio);
+	goto update_disksize;
+ }
 if (e) {
-	if (progress)
-		goto update_disksize;
	return err;
 }
...>
}

@@
identifier mpd, index;
@@
mpage_release_unused_pages(struct mpage_da_data *mpd, ...)
{
<...
- index = mpd->first_page;
+ index = mpd->first_page + mpd->zj_part;
...>
}

@@
identifier mpd, index;
@@
mpage_prepare_extent_to_map(struct mpage_da_data *mpd)
{
<...
 mpd->map.m_len = 0;
+ mpd->zj_part = 0;
 mpd->next_page = index;
...>
}

@@
identifier mpd, progress, handle, err, sb;
expression e;
typedef handle_t;
@@
mpage_map_and_submit_extent(handle_t *handle, struct mpage_da_data *mpd, ...)
{
<...
 if (ext4_emergency_state(sb))
	goto invalidate_dirty_pages;
+ if (progress) {
+	if (mpage_submit_partial_folio(mpd))
+		goto invalidate_dirty_pages;
+	goto update_disksize;
+ }
 if (e) {
-	if (progress) {
-		if (mpage_submit_partial_folio(mpd))
-			goto invalidate_dirty_pages;
-		goto update_disksize;
-	}
	return err;
 }
...>
}
