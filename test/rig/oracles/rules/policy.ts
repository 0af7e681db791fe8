// S5, on each request: no address that the policy refuses reaches the host, and no label that the configuration excludes, also for the moment between two
// calms in which the model does not look. In: writes to the host. Addresses are read by the model's own reader.
import type { LiveFault } from '../../faults/live-fault.ts';
import { isRefused } from '../../model/words/addresses.ts';
import type { World, WorldEars } from '../../play/world.ts';
import { isWrite, type Passing } from '../../proxy/passing.ts';
import type { Board } from '../board.ts';

const synced: readonly string[] = ['endpoints', 'endpointslices'];
/** What was decided before a reload may still be on its way. */
const soonMs = 2_000;
/** A daemon that a fault holds, or a request that one delays, is of the configuration of before for longer. */
const lateMs = 130_000;

interface Asked {
  metadata?: { labels?: Readonly<Record<string, unknown>> };
  subsets?: readonly Partial<Record<'addresses' | 'notReadyAddresses', readonly { ip?: string }[]>>[];
  endpoints?: readonly { addresses?: readonly string[] }[];
}

interface Rules {
  hostward: {
    addressPolicy?: { allow?: readonly string[]; deny?: readonly string[] };
    exclude?: { labels?: readonly string[] };
  };
}

export class Policy implements WorldEars {
  readonly #world: Pick<World, 'clock' | 'configurations'>;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];

  constructor(world: Pick<World, 'clock' | 'configurations'>, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  passed(passing: Passing): void {
    const { side, verb, resource, daemon, method, path } = passing;
    if (side !== 'host' || !isWrite(passing) || verb === 'delete' || !synced.includes(resource)) return;
    const asked = askedIn(passing);
    const inForce = this.#inForce();
    const at = `${method} ${path.split('?')[0]} by ${daemon}`;
    for (const address of addressesIn(asked))
      if (
        inForce.every(({ hostward: { addressPolicy: { allow = [], deny = [] } = {} } }) =>
          isRefused(address, { allow, deny }),
        )
      )
        this.#board.say('S5', 'an address', `${at}: the policy refuses ${address}`);
    for (const [key, value] of Object.entries(asked.metadata?.labels ?? {}))
      if (value !== null && inForce.every(({ hostward }) => hostward.exclude?.labels?.includes(key) === true))
        this.#board.say('S5', 'a label', `${at}: the configuration excludes the label ${key}`);
  }

  /** One of these decided. */
  #inForce(): Rules[] {
    const { configurations, clock } = this.#world;
    const from = clock.now() - (this.#faults.some(({ hasStruck }) => hasStruck) ? lateMs : soonMs);
    const isOver = (at: number): boolean => (configurations[at + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) < from;
    return configurations.flatMap(({ configuration }, at) => (isOver(at) ? [] : [configuration as Rules]));
  }
}

function addressesIn({ subsets, endpoints }: Asked): string[] {
  const ready = (subsets ?? []).flatMap(({ addresses = [], notReadyAddresses = [] }) => [
    ...addresses,
    ...notReadyAddresses,
  ]);
  return [...ready.flatMap(({ ip }) => ip ?? []), ...(endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])];
}

function askedIn({ body }: Passing): Asked {
  try {
    return JSON.parse(body) as Asked;
  } catch {
    return {};
  }
}
