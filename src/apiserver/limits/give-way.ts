// Who gives way when all together hold too much: owners with more than their share, and of the one who holds most at that moment, what
// has waited longest. So whoever holds little loses nothing to somebody who holds much. Pure.

export interface HeldByOwner<Stalled extends { sinceMs: number; bytes: number }> {
  /** What makes no progress, which alone gives way. */
  stalled: Stalled[];
  /** Of everything, also of what makes progress. */
  bytes: number;
}

/** Without an end of its own before every owner is down to half of the share: the reader stops when there is room. */
export function* inOrder<Stalled extends { sinceMs: number; bytes: number }>(
  owners: readonly HeldByOwner<Stalled>[],
  share: number,
): Generator<Stalled> {
  const left = owners.filter(({ bytes }) => bytes > share);
  for (const { stalled } of left) stalled.sort((a, b) => a.sinceMs - b.sinceMs);
  for (;;) {
    const most = left
      .filter(({ stalled, bytes }) => stalled.length > 0 && bytes > share / 2)
      .sort((a, b) => b.bytes - a.bytes)[0];
    const next = most?.stalled.shift();
    if (most === undefined || next === undefined) return;
    most.bytes -= next.bytes;
    yield next;
  }
}
