// Reads all records of a prefix at one revision, page by page. The next page is read while the caller works on this one, so two pages
// are in memory at a time.
import type { ListResult, Store, StoredRecord } from '../store.ts';

export async function* pagesOf(
  store: Pick<Store, 'list'>,
  prefix: string,
  { revision, limit }: { revision: number; limit: number },
): AsyncGenerator<readonly StoredRecord[]> {
  const read = (afterKey?: string): Promise<ListResult> => {
    const page = store.list(prefix, {
      atRevision: revision,
      limit,
      isWalk: true,
      ...(afterKey !== undefined && { afterKey }),
    });
    // A caller who leaves early does not wait for it.
    page.catch(() => undefined);
    return page;
  };
  for (let next: Promise<ListResult> | undefined = read(); next !== undefined; ) {
    const page: ListResult = await next;
    if (page.kind !== 'page') throw new Error(`read ${prefix}: want revision ${revision}, the store has forgotten it`);
    next = page.hasMore ? read(page.records.at(-1)?.key) : undefined;
    yield page.records;
  }
}
