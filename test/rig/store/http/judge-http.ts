// Judges what clients of an API server saw against what its store holds: every watch, list and write over HTTP must tell the one story of the log.

export interface Thing {
  /** namespace/name. */
  key: string;
  revision: number;
  value: string;
  side: string;
}

/** A write as the store under the server made it. */
export interface Change {
  revision: number;
  key: string;
  thing: Thing | undefined;
  calledAt: number;
  returnedAt: number;
}

export interface Selection {
  namespace: string;
  name?: string;
  side?: string;
}

export interface Written {
  verb: 'create' | 'update' | 'delete';
  key: string;
  /** The resourceVersion that it was for. */
  expect: number | undefined;
  status: number;
  revision: number;
  calledAt: number;
  returnedAt: number;
}

export interface Listed {
  selection: Selection;
  /** With resourceVersionMatch=Exact. */
  exact: number | undefined;
  /** Not one when a page was refused. */
  pages: { revision: number; things: Thing[]; remaining: number | undefined }[];
  isTooOld: boolean;
  calledAt: number;
  returnedAt: number;
}

export type Line =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; thing: Thing }
  | { type: 'BOOKMARK'; revision: number; endsInitial: boolean }
  /** Code 0: the server has ended the answer without one. Else as it was told, or the status of an answer that is no watch. */
  | { type: 'ERROR'; code: number; at: number };

type Told = Extract<Line, { thing: Thing }>;

export interface WatchSeen {
  selection: Selection;
  /** Undefined: the present state first, up to the bookmark that ends it. */
  after: number | undefined;
  lines: Line[];
  calledAt: number;
  /** It was open to the end, and so owes everything up to this revision. */
  owes: number | undefined;
}

export interface HttpHistory {
  changes: Change[];
  writes: Written[];
  lists: Listed[];
  watches: WatchSeen[];
  compactions: { upTo: number; calledAt: number }[];
  /** As of a history of a store. */
  unjudged: string[];
}

export function judgeHttp(history: HttpHistory): string[] {
  const story = new Story(history);
  return [
    ...history.writes.flatMap((one) => [...story.writeFaults(one)]),
    ...story.deleteFaults(),
    ...history.lists.flatMap((one) => [...story.listFaults(one)].map((what) => `list of ${told(one)}: ${what}`)),
    ...history.watches.flatMap((one) => [...story.watchFaults(one)].map((what) => `watch of ${told(one)}: ${what}`)),
  ];
}

class Story {
  #history: HttpHistory;
  #changes: readonly Change[];

  constructor(history: HttpHistory) {
    this.#history = history;
    this.#changes = history.changes.toSorted((one, other) => one.revision - other.revision);
  }

  *writeFaults({ verb, key, expect, status, revision, calledAt, returnedAt }: Written): Generator<string> {
    const what = `${verb} of ${key} at ${expect ?? 'any'}, answered ${status}`;
    if (status < 300 && verb !== 'delete') {
      const made = this.#changes.find((change) => change.revision === revision);
      if (made?.thing === undefined || made.key !== key) yield `${what}: the store has no such change ${revision}`;
      const before = this.#before(key, revision)?.thing?.revision;
      if (verb === 'create' ? before !== undefined : expect !== undefined && before !== expect)
        yield `${what}: overwrote ${before ?? 'nothing'}`;
    }
    if (status < 400) return;
    // A refusal names a state that the key had while it was asked.
    const during = this.#changes.filter((one) => one.key === key && one.calledAt <= returnedAt);
    const since = during.findLastIndex((one) => one.returnedAt < calledAt);
    const states = during.slice(Math.max(0, since)).map(({ thing }) => thing?.revision);
    if (since < 0) states.unshift(undefined);
    const fits = (held: number | undefined) =>
      status === 404 ? held === undefined : held !== undefined && (verb === 'create' || held !== expect);
    if ((status !== 404 && status !== 409) || !states.some(fits)) yield `${what}, while it was ${states.join(', ')}`;
  }

  /** The answer to a delete names no revision: each that the store has was asked for, and for that version. */
  *deleteFaults(): Generator<string> {
    const asked = this.#history.writes.filter(({ verb, status }) => verb === 'delete' && status < 300);
    for (const { key, revision, calledAt, returnedAt } of this.#changes.filter(({ thing }) => thing === undefined)) {
      const before = this.#before(key, revision)?.thing?.revision;
      const nth = asked.findIndex(
        (one) =>
          one.key === key &&
          one.calledAt <= calledAt &&
          returnedAt <= one.returnedAt &&
          (one.expect ?? before) === before,
      );
      if (nth < 0) yield `the delete ${revision} of ${key}, which was at ${before}, was asked by nobody`;
      else asked.splice(nth, 1);
    }
    for (const { key } of asked) yield `a delete of ${key} was acknowledged and is not in the store`;
  }

  *listFaults({ selection, exact, pages, isTooOld, calledAt, returnedAt }: Listed): Generator<string> {
    const revision = pages[0]?.revision ?? exact ?? 0;
    if (isTooOld) {
      if (!this.#isCompacted(revision, returnedAt)) yield `refused as too old, which ${revision} is not`;
      return;
    }
    const known = this.#acknowledged(calledAt);
    if (exact !== undefined ? revision !== exact : revision < known)
      yield `is of ${revision}, wanted ${exact ?? `what was acknowledged, ${known}`}`;
    const state = this.#state(selection, revision);
    const shown = pages.flatMap(({ things }) => things);
    if (JSON.stringify(shown) !== JSON.stringify(state))
      yield `at ${revision} shows ${JSON.stringify(shown)} instead of ${JSON.stringify(state)}`;
    let left = state.length;
    for (const page of pages) {
      left -= page.things.length;
      if (page.revision !== revision) yield `its pages are of ${revision} and ${page.revision}`;
      if (page.remaining !== undefined && page.remaining !== left)
        yield `says that ${page.remaining} remain, which are ${left}`;
    }
  }

  *watchFaults({ selection, after, lines, calledAt, owes }: WatchSeen): Generator<string> {
    let from = after;
    let open = lines;
    if (after === undefined) {
      const nth = lines.findIndex((line) => line.type === 'BOOKMARK' && line.endsInitial);
      const end = lines[nth];
      if (end?.type !== 'BOOKMARK') return void (owes !== undefined && (yield 'its first state has no end'));
      from = end.revision;
      const state = this.#state(selection, from).map((thing) => ({ type: 'ADDED', thing }));
      const shown = lines.slice(0, nth);
      if (JSON.stringify(shown) !== JSON.stringify(state))
        yield `begins at ${from} with ${JSON.stringify(shown)} instead of ${JSON.stringify(state)}`;
      if (from < this.#acknowledged(calledAt)) yield `begins at ${from}, behind what was acknowledged`;
      open = lines.slice(nth + 1);
    }
    const due = this.#lines(selection, from ?? 0);
    let last = from ?? 0;
    for (const line of open) {
      if (line.type === 'ERROR') {
        // One that was open when its place was forgotten ends without a word.
        if (![0, 410].includes(line.code) || !this.#isCompacted(last, line.at))
          yield `ended with ${line.code} at ${last}`;
        return;
      }
      const next = due[0]?.thing.revision ?? Number.POSITIVE_INFINITY;
      if (line.type === 'BOOKMARK') {
        if (line.revision < last) yield `bookmark ${line.revision} came after ${last}`;
        if (line.revision >= next) yield `bookmark ${line.revision} came before ${next}`;
        last = Math.max(last, line.revision);
        continue;
      }
      if (JSON.stringify(line) !== JSON.stringify(due.shift()))
        return void (yield `after ${last} came ${JSON.stringify(line)} instead of revision ${next}`);
      last = line.thing.revision;
    }
    const missing = due.find(({ thing }) => thing.revision <= (owes ?? 0));
    if (missing !== undefined) yield `owes ${owes}, and ended before ${missing.thing.revision}`;
  }

  /** What a watch must say of all changes after a revision: a change may bring a thing into a selection, or take it out. */
  #lines(selection: Selection, after: number): Told[] {
    return this.#changes.flatMap(({ revision, key, thing }): Told | Told[] => {
      if (revision <= after) return [];
      const before = this.#before(key, revision)?.thing;
      const [was, is] = [before, thing].map((one) => one !== undefined && covers(selection, one));
      if (is && thing !== undefined) return { type: was ? 'MODIFIED' : 'ADDED', thing };
      return was && before !== undefined ? { type: 'DELETED', thing: { ...before, revision } } : [];
    });
  }

  #state(selection: Selection, revision: number): Thing[] {
    const state = new Map<string, Thing | undefined>();
    for (const change of this.#changes) if (change.revision <= revision) state.set(change.key, change.thing);
    const things = [...state.values()].filter((one) => one !== undefined && covers(selection, one)) as Thing[];
    return things.sort((one, other) => (one.key < other.key ? -1 : 1));
  }

  #before(key: string, revision: number): Change | undefined {
    return this.#changes.findLast((change) => change.key === key && change.revision < revision);
  }

  #acknowledged(moment: number): number {
    const { writes } = this.#history;
    return Math.max(0, ...writes.map((one) => (one.status < 300 && one.returnedAt < moment ? one.revision : 0)));
  }

  #isCompacted(revision: number, moment: number): boolean {
    return this.#history.compactions.some(({ upTo, calledAt }) => calledAt < moment && revision < upTo);
  }
}

function covers({ namespace, name, side }: Selection, thing: Thing): boolean {
  const [itsNamespace, itsName] = thing.key.split('/');
  return (
    (namespace === '' || namespace === itsNamespace) &&
    (name ?? itsName) === itsName &&
    (side ?? thing.side) === thing.side
  );
}

function told({ selection }: { selection: Selection }): string {
  return JSON.stringify(selection);
}
