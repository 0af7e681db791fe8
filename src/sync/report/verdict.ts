// Judges the whole daemon in one sentence: the first line and the exit code of `hostward status`. In: facts of the daemon.
// Out: a state, whether it is well, and the sentence. Pure.

export type VerdictState =
  | 'switchedOff'
  | 'starting'
  | 'unreachable'
  | 'unreadable'
  | 'unwritable'
  | 'standby'
  | 'dryRun'
  | 'blocked'
  | 'behind'
  /** The addresses are right, but something else does not cross. */
  | 'incomplete'
  | 'inStep';

export interface Verdict {
  state: VerdictState;
  /** False when an operator should look: `hostward status` then exits with 1. */
  isWell: boolean;
  sentence: string;
}

export interface Outage {
  cluster: 'virtual' | 'host';
  /** `unreadable`: the server answers, but not with lists and watches. */
  kind: 'unreachable' | 'unreadable' | 'unwritable';
  /** Wall time, RFC 3339. */
  since: string;
  seconds: number;
  message: string;
}

export interface VerdictFacts {
  isSwitchedOff: boolean;
  /** The windows that the start still waits for; undefined when the first lists are in. */
  waitsFor: string | undefined;
  outages: readonly Outage[];
  standbyBehind: string | undefined;
  /** Why the lease can neither be read nor renewed. */
  leaseTrouble: string | undefined;
  isDryRun: boolean;
  /** Objects that a dry run would write. */
  differences: number;
  /** Virtual objects. */
  objects: number;
  /** Why the owner of all copies is missing. */
  ownerMissing: string | undefined;
  /** Reason → number of objects that cannot reach the host, or with `Contested` do not stay there, until an operator acts. */
  blocked: ReadonlyMap<string, number>;
  /** Reason → number of objects or references of which a part does not cross until somebody acts. */
  gaps: ReadonlyMap<string, number>;
  /** Objects with a change that has not reached the other side yet. */
  waiting: number;
  oldestSeconds: number;
}

/** A younger change is simply under way; a living cluster always has some. */
const patienceSeconds = 5;

export function verdictOf(facts: VerdictFacts): Verdict {
  const { outages, waitsFor } = facts;
  if (facts.isSwitchedOff) return well('switchedOff', 'switched off: nothing is touched');
  const [outage] = outages.filter(({ kind }) => kind === 'unreachable').concat(outages);
  if (outage !== undefined) return unwell(outage.kind, outages.map(outageSentence).join('; '));
  if (waitsFor !== undefined) return unwell('starting', `starting: waiting for ${waitsFor}`);
  if (facts.leaseTrouble !== undefined)
    return unwell('standby', `nothing is written: the lease cannot be read or renewed: ${facts.leaseTrouble}`);
  if (facts.standbyBehind !== undefined) return well('standby', `standby: ${facts.standbyBehind} does the writing`);
  if (facts.isDryRun) {
    const { differences } = facts;
    const writes = `dry run: ${differences === 0 ? 'nothing' : objectsOf(differences)} would be written`;
    const obstacles = [...obstaclesOf(facts), ...gapsOf(facts)];
    return obstacles.length === 0 ? well('dryRun', writes) : unwell('dryRun', [writes, ...obstacles].join('; '));
  }
  return stateOfObjects(facts);
}

/** What keeps objects off the host until an operator acts. */
function obstaclesOf({ objects, ownerMissing, blocked }: VerdictFacts): string[] {
  const { Contested: contested = 0, ...others } = Object.fromEntries(blocked);
  const sum = Object.values(others).reduce((total, count) => total + count, 0);
  const reasons = Object.entries(others).map(([reason, count]) => `${count} ${reason}`);
  const found = sum === 0 ? [] : [`${sum} of ${objectsOf(objects)} cannot reach the host (${reasons.join(', ')})`];
  // Its copy is there, and comes and goes with the writes of the other client.
  if (contested > 0) {
    const keeps = contested === 1 ? 'keeps' : 'keep';
    found.push(
      `${contested} of ${objectsOf(objects)} ${keeps} being changed on the host by another client (Contested)`,
    );
  }
  return ownerMissing === undefined ? found : [`OwnerMissing: ${ownerMissing}`, ...found];
}

const gapWords: Readonly<Record<string, (count: number) => string>> = {
  BackflowFailed: (count) => `host edits of ${objectsOf(count)} cannot reach the tenant`,
  PatchFailed: (count) => `${objectsOf(count)} went on without a patch that failed`,
  ReferenceUnresolved: (count) => `${referencesOf(count)} nothing behind ${count === 1 ? 'it' : 'them'}`,
};

/** What does not cross although the object does. */
function gapsOf({ gaps }: VerdictFacts): string[] {
  return [...gaps].map(([reason, count]) => {
    const words =
      gapWords[reason]?.(count) ?? `the content of ${count} ${count === 1 ? 'reference' : 'references'} does not cross`;
    return `${words} (${reason})`;
  });
}

function stateOfObjects(facts: VerdictFacts): Verdict {
  const { objects, waiting, oldestSeconds } = facts;
  const obstacles = obstaclesOf(facts);
  const gaps = gapsOf(facts);
  if (obstacles.length > 0) return unwell('blocked', `blocked: ${[...obstacles, ...gaps].join('; ')}`);
  const age = `the oldest change is ${Math.round(oldestSeconds)} s old`;
  if (waiting > 0 && oldestSeconds >= patienceSeconds) {
    const waits = `${objectsOf(waiting)} ${waiting === 1 ? 'waits' : 'wait'}, ${age}`;
    return unwell('behind', `behind: ${[waits, ...gaps].join('; ')}`);
  }
  if (gaps.length > 0) return unwell('incomplete', `incomplete: ${gaps.join('; ')}`);
  const underWay = waiting === 0 ? '' : `, ${waiting} on the way`;
  return well('inStep', `in step: ${objectsOf(objects)}${underWay}`);
}

const cannot: Readonly<Record<Outage['kind'], string>> = {
  unreachable: 'cannot reach',
  unreadable: 'gets no lists and watches from',
  unwritable: 'cannot write to',
};

export function outageSentence({ cluster, kind, since, message }: Outage): string {
  return `${cannot[kind]} the ${cluster} cluster since ${since}: ${message}`;
}

function objectsOf(count: number): string {
  return `${count} ${count === 1 ? 'object' : 'objects'}`;
}

function referencesOf(count: number): string {
  return `${count} ${count === 1 ? 'reference has' : 'references have'}`;
}

function well(state: VerdictState, sentence: string): Verdict {
  return { state, isWell: true, sentence };
}

function unwell(state: VerdictState, sentence: string): Verdict {
  return { state, isWell: false, sentence };
}
