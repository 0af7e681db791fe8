// Who gives way when all together hold too much: owners with more than their share, and of the one who holds most at that moment, what
// has waited longest. So whoever holds little loses nothing to somebody who holds much. In: what is held. Out: how much was ended.

export interface HeldBytes {
  owner: string;
  bytes: number;
  /** Since when it makes no progress; undefined = it makes some, and does not give way. */
  stalledSinceMs: number | undefined;
  end(): void;
}

type Stalled = HeldBytes & { stalledSinceMs: number };

interface HeldByOwner {
  stalled: Stalled[];
  /** Of everything, also of what makes progress. */
  bytes: number;
}

/** Beyond the bound it ends what stalls until half of the bound is held. Returns how many it has ended. */
export function makeRoom(held: readonly HeldBytes[], mostBytes: number): number {
  let left = held.reduce((sum, { bytes }) => sum + bytes, 0);
  if (left <= mostBytes) return 0;
  const owners = byOwner(held);
  let ended = 0;
  for (const { bytes, end } of inOrder(owners, mostBytes / owners.length)) {
    if (left <= mostBytes / 2) break;
    left -= bytes;
    ended++;
    end();
  }
  return ended;
}

function byOwner(held: readonly HeldBytes[]): HeldByOwner[] {
  const holding = held.filter(({ bytes }) => bytes > 0);
  return [...Map.groupBy(holding, ({ owner }) => owner).values()].map((mine) => ({
    stalled: mine
      .filter((one): one is Stalled => one.stalledSinceMs !== undefined)
      .sort((a, b) => a.stalledSinceMs - b.stalledSinceMs),
    bytes: mine.reduce((sum, { bytes }) => sum + bytes, 0),
  }));
}

/** Until every owner is down to half of the share. */
function* inOrder(owners: readonly HeldByOwner[], share: number): Generator<Stalled> {
  const beyond = owners.filter(({ bytes }) => bytes > share);
  for (;;) {
    const most = beyond
      .filter(({ stalled, bytes }) => stalled.length > 0 && bytes > share / 2)
      .sort((a, b) => b.bytes - a.bytes)[0];
    const next = most?.stalled.shift();
    if (most === undefined || next === undefined) return;
    most.bytes -= next.bytes;
    yield next;
  }
}
