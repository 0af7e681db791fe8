// Keeps one table row for each object of the demo. In: changes that the demo's own watches see. Out: rows with lag and state.
// The board must never ask the daemon: it measures the lag that a user sees.
import type { Clock } from '../../clock.ts';
import type { Item } from '../../cluster/window/window.ts';
import { type Key, type KubeObject, keyOf } from '../../object/meta/object.ts';
import type { Side } from '../line/cluster-client.ts';

export interface ShownObject extends Item {
  /** Equal on both sides when they agree. */
  fingerprint: string;
  /** The virtual key that a host object names in its annotations. */
  owner?: Key;
}

export interface BoardRow {
  key: Key;
  hostPlace: string;
  lastChange: { side: Side; agoMs: number };
  /** How long the two sides differed before they agreed again. */
  lagMs: number | undefined;
  state: 'in sync' | 'on its way' | 'not on the host' | 'leaving';
}

interface BoardEntry {
  virtual: string | undefined;
  host: string | undefined;
  changedSide: Side;
  changedMs: number;
  differsSinceMs: number | undefined;
  lagMs: number | undefined;
}

/** Keeps the fields that should agree. Reserved keys and keys of Kubernetes' own controllers differ by design. */
export function projectSeen(object: KubeObject): ShownObject {
  const { namespace = '', name = '', uid = '', resourceVersion = '', labels, annotations } = object.metadata;
  const owner = ownerOf(object);
  const fingerprint = JSON.stringify([endpointsOf(object), ownEntries(labels), ownEntries(annotations)]);
  return { namespace, name, uid, resourceVersion, fingerprint, ...(owner !== undefined && { owner }) };
}

/** Addresses and ports only: references to Pods are translated on the way, so they differ between the sides. */
function endpointsOf(object: KubeObject): unknown[] {
  const subsets = (object['subsets'] ?? []) as Record<
    'addresses' | 'notReadyAddresses' | 'ports',
    { ip?: string }[] | undefined
  >[];
  const ips = (addresses: { ip?: string }[] | undefined) => (addresses ?? []).map((address) => address.ip);
  return subsets.map((subset) => [ips(subset.addresses), ips(subset.notReadyAddresses), subset.ports ?? []]);
}

function ownEntries(map: Record<string, string> | undefined): [string, string][] {
  const isOwn = (key: string) =>
    key !== 'release' && !/^(vcluster\.loft\.sh|hostward\.dev|[a-z-]+\.kubernetes\.io)\//.test(key);
  return Object.entries(map ?? {})
    .filter(([key]) => isOwn(key))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

export class DemoBoard {
  #clock: Clock;
  #hostKeyOf: (key: Key) => Key;
  #entries = new Map<Key, BoardEntry>();
  #keyOfHost = new Map<Key, Key>();
  /** Called whenever both sides agree again. */
  #agreed: (row: BoardRow) => void;

  constructor(options: { clock: Clock; hostKeyOf: (key: Key) => Key; agreed: (row: BoardRow) => void }) {
    this.#clock = options.clock;
    this.#hostKeyOf = options.hostKeyOf;
    this.#agreed = options.agreed;
  }

  virtualChanged(key: Key, seen: ShownObject | undefined): void {
    this.#keyOfHost.set(this.#hostKeyOf(key), key);
    this.#change(key, 'virtual', seen?.fingerprint);
  }

  /** Asks the annotations first, because two virtual keys may have the same host key. */
  hostChanged(hostKey: Key, seen: ShownObject | undefined): void {
    const owner = seen?.owner;
    const key = owner ?? this.#keyOfHost.get(hostKey);
    if (key === undefined) return;
    if (owner !== undefined) this.#keyOfHost.set(hostKey, owner);
    this.#change(key, 'host', seen?.fingerprint);
  }

  rows(): BoardRow[] {
    return [...this.#entries.keys()].sort().map((key) => this.#row(key, this.#entries.get(key) as BoardEntry));
  }

  #change(key: Key, side: Side, fingerprint: string | undefined): void {
    const now = this.#clock.now();
    const entry = this.#entries.get(key) ?? newEntry(side, now);
    if (entry[side] === fingerprint && this.#entries.has(key)) return;
    entry[side] = fingerprint;
    if (entry.virtual === entry.host) {
      if (entry.differsSinceMs !== undefined) entry.lagMs = now - entry.differsSinceMs;
      entry.differsSinceMs = undefined;
    } else if (entry.differsSinceMs === undefined) {
      // The first change starts the lag; the change of the other side is its echo.
      entry.differsSinceMs = now;
      entry.changedSide = side;
      entry.changedMs = now;
    }
    if (entry.virtual === undefined && entry.host === undefined) this.#entries.delete(key);
    else this.#entries.set(key, entry);
    if (entry.differsSinceMs === undefined) this.#agreed(this.#row(key, entry));
  }

  #row(key: Key, entry: BoardEntry): BoardRow {
    return {
      key,
      hostPlace: this.#hostKeyOf(key),
      lastChange: { side: entry.changedSide, agoMs: this.#clock.now() - entry.changedMs },
      lagMs: entry.lagMs,
      state: stateOf(entry),
    };
  }
}

function newEntry(side: Side, now: number): BoardEntry {
  return {
    virtual: undefined,
    host: undefined,
    changedSide: side,
    changedMs: now,
    differsSinceMs: undefined,
    lagMs: undefined,
  };
}

function stateOf(entry: BoardEntry): BoardRow['state'] {
  if (entry.virtual === entry.host) return 'in sync';
  if (entry.host === undefined) return 'not on the host';
  return entry.virtual === undefined ? 'leaving' : 'on its way';
}

export function ownerOf(object: KubeObject): Key | undefined {
  const name = object.metadata.annotations?.['vcluster.loft.sh/object-name'];
  const namespace = object.metadata.annotations?.['vcluster.loft.sh/object-namespace'];
  return name !== undefined && namespace !== undefined ? keyOf(namespace, name) : undefined;
}
