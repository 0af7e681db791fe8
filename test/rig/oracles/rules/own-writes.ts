// Who has the answer to its own write knows what it says, however late its watches and however old its lists are: it never writes to what it has
// deleted, never over a state that is older than its own, and never makes again what it has made and what stands. And whoever is refused because
// somebody else was quicker reads the object before it writes again (DESIGN, rule 11), and believes what it reads: it makes no copy that it has been
// shown. In: reads and writes, and their answers as the daemon gets them.
import type { LiveFault } from '../../faults/live-fault.ts';
import type { World, WorldEars } from '../../play/world.ts';
import type { OpenWatch } from '../../proxy/fault-proxy.ts';
import { isWrite, type Passing, type WatchedLine } from '../../proxy/passing.ts';
import { type RigResource, registry } from '../../stage/rig-cluster.ts';
import type { Board } from '../board.ts';
import { markerLabel } from '../marks.ts';
import { liars } from './missed-changes.ts';

const setBack: ReadonlySet<string> = new Set(['F36']);
/** Lists that are not true. Who believes them may take what it is shown for deleted since. */
const falseLists: ReadonlySet<string> = new Set(['F7', 'F8', 'F9', 'F36', 'F38']);
const whole: ReadonlySet<string | undefined> = new Set([undefined, 'delay', 'delayAnswer']);
/** A server that shows an older state again to whoever doubts it was set back, as far as anybody can tell. */
const believedWhenShown = 2;

interface Own {
  uid: string;
  revision: number;
  isGone: boolean;
}

interface Refused {
  asked: string;
  isRead: boolean;
}

interface Asked {
  metadata?: { name?: string; uid?: string; resourceVersion?: string; labels?: Record<string, string> };
  preconditions?: { uid?: string; resourceVersion?: string };
}

export class OwnWrites implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];
  /** By daemon and object: what the answer to its last write has said. */
  readonly #own = new Map<string, Own>();
  readonly #refused = new Map<string, Refused>();
  /** Answers that are on their way since the last moment of rest. */
  #fresh: { id: string; passing: Passing }[] = [];
  /** By daemon and object: the uid of the copy that the last read has shown. */
  readonly #shown = new Map<string, string>();
  /** By daemon and resource: how many lists in a row were older than what the daemon has written. */
  readonly #oldLists = new Map<string, number>();

  constructor(world: World, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  passed(passing: Passing): void {
    const { verb } = passing;
    if (verb === 'get') this.#read(idOf(passing, passing.name));
    if (!isWrite(passing)) return;
    const asked = askedIn(passing);
    const id = idOf(passing, nameIn(passing, asked));
    const at = `${passing.daemon} sends ${passing.method} ${passing.path.split('?')[0]}`;
    const refused = this.#refused.get(id);
    if (refused?.isRead === false && refused.asked === textOf(passing, asked))
      this.#board.say(
        'rule 11',
        'not read again',
        `${at} again, and has not read since it was refused with a conflict`,
      );
    if (verb === 'create' && !this.#hasStruck(falseLists)) this.#shownBefore(passing, nameIn(passing, asked), at);
    const own = this.#own.get(id);
    // A server that was set back knows nothing of what it has answered.
    if (own === undefined || this.#hasStruck(setBack)) return;
    if (verb !== 'create') this.#older(asked, own, at);
    // Who is shown a lie takes what the answer names for deleted since.
    else if (!this.#hasStruck(liars)) this.#madeTwice(passing, nameIn(passing, asked), own, at);
  }

  #hasStruck(classes: ReadonlySet<string>): boolean {
    return this.#faults.some(({ hasStruck, recipe }) => hasStruck && classes.has(recipe.class));
  }

  #older(asked: Asked, { uid, revision, isGone }: Own, at: string): void {
    const { uid: of, resourceVersion } = asked.preconditions ?? asked.metadata ?? {};
    if (of !== uid) return;
    if (isGone) this.#board.say('own writes', 'to what is deleted', `${at}: it has deleted that object itself`);
    else if (Number(resourceVersion ?? revision) < revision)
      this.#board.say('own writes', 'older', `${at} over revision ${resourceVersion}; its last write made ${revision}`);
  }

  #shownBefore(passing: Passing, name: string, at: string): void {
    const { side, resource, namespace } = passing;
    const standing = this.#world.clusters[side].find(resource as RigResource, namespace, name);
    if (standing !== undefined && this.#shown.get(idOf(passing, name)) === standing.metadata.uid)
      this.#board.say('own writes', 'made in vain', `${at} of ${name}, which it has read and which stands`);
  }

  #madeTwice({ side, resource, namespace }: Passing, name: string, { uid, isGone }: Own, at: string): void {
    const standing = this.#world.clusters[side].find(resource as RigResource, namespace, name);
    if (!isGone && standing?.metadata.uid === uid)
      this.#board.say('own writes', 'made twice', `${at} of ${name}, which it has made and which stands`);
  }

  given(passing: Passing, status: number, text: string): void {
    if (passing.verb === 'get') this.#show(passing, status, text);
    if (passing.verb === 'list') this.#listed(passing, status, text);
    if (!isWrite(passing)) return;
    // Whoever gets something else than the answer knows nothing of it.
    const isWhole = whole.has(passing.fate);
    const id = this.#hear(passing, isWhole && status === 409);
    if (status >= 300 || !isWhole) return;
    const { store } = this.#world.clusters[passing.side];
    const done = store.written.findLast(({ by }) => by?.request === passing.id && by.daemon === passing.daemon);
    const { uid = '' } = (done?.after ?? done?.before)?.metadata ?? {};
    if (done !== undefined && registry[passing.resource as RigResource] !== undefined)
      this.#own.set(id, { uid, revision: done.revision, isGone: done.after === undefined });
    this.#fresh.push({ id, passing });
  }

  /** An answer whose connection stands still, or that of a process that does, may be given up before anybody reads it. */
  still(): void {
    for (const { id, passing } of this.#fresh) {
      const { wires } = this.#world.proxies[passing.side];
      const isHeld = [...wires].some(([wire, daemon]) => daemon === passing.daemon && wire.isOpen && wire.isHeld);
      if (isHeld) this.#own.delete(id);
    }
    this.#fresh = [];
  }

  madeUp(passing: Passing, status: number): void {
    if (isWrite(passing)) this.#hear(passing, status === 409);
  }

  /** Returns which object of the daemon it is about. */
  #hear(passing: Passing, isConflict: boolean): string {
    const asked = askedIn(passing);
    const id = idOf(passing, nameIn(passing, asked));
    if (isConflict) this.#refused.set(id, { asked: textOf(passing, asked), isRead: false });
    else this.#refused.delete(id);
    return id;
  }

  /** A window shows a copy by its marker. */
  #show(passing: Passing, status: number, text: string): void {
    const id = idOf(passing, passing.name);
    this.#shown.delete(id);
    if (status !== 200 || !whole.has(passing.fate)) return;
    const { uid = '', labels } = (JSON.parse(text) as Asked).metadata ?? {};
    if (labels?.[markerLabel] !== undefined) this.#shown.set(id, uid);
  }

  /** A list speaks later, and may lie. It shows what it has as a read does. */
  #listed({ daemon, side, resource, fate }: Passing, status: number, text: string): void {
    const of = `${daemon} ${side} ${resource} `;
    for (const id of this.#shown.keys()) if (id.startsWith(of)) this.#shown.delete(id);
    if (status !== 200) return;
    for (const id of this.#refused.keys()) if (id.startsWith(of)) this.#read(id);
    const own = [...this.#own].filter(([id]) => id.startsWith(of));
    if (fate !== 'change' || own.length === 0 || !this.#hasStruck(falseLists)) return void this.#oldLists.delete(of);
    const { resourceVersion } = askedIn({ body: text })?.metadata ?? {};
    const later = own.filter(([, { revision }]) => revision > Number(resourceVersion));
    const times = later.length === 0 ? 0 : (this.#oldLists.get(of) ?? 0) + 1;
    this.#oldLists.set(of, times);
    if (times >= believedWhenShown) for (const [id] of later) this.#own.delete(id);
  }

  #read(id: string): void {
    const refused = this.#refused.get(id);
    if (refused !== undefined) refused.isRead = true;
  }

  /** An event shows the object as well. */
  event({ passing }: OpenWatch, { type, key }: WatchedLine): void {
    const id = `${passing.daemon} ${passing.side} ${passing.resource} ${key}`;
    this.#read(id);
    if (type === 'DELETED') this.#shown.delete(id);
  }
}

const idOf = ({ daemon, side, resource, namespace }: Passing, name: string): string =>
  `${daemon} ${side} ${resource} ${namespace}/${name}`;

const nameIn = ({ name }: Passing, { metadata }: Asked): string => (name === '' ? (metadata?.name ?? '') : name);

function askedIn({ body }: Pick<Passing, 'body'>): Asked {
  try {
    return JSON.parse(body) as Asked;
  } catch {
    return {};
  }
}

/** The state of the object that a write wants to meet. */
function textOf({ verb }: Passing, { metadata, preconditions }: Asked): string {
  const { uid, resourceVersion } = preconditions ?? metadata ?? {};
  return `${verb} ${uid} ${resourceVersion}`;
}
