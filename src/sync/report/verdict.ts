// Judges the whole daemon in one sentence: the first line and the exit code of `hostward status`. In: facts of the daemon.
// Out: a state, whether it is well, and the sentence, and since when. Pure but for the memory of times.
import { withShortRefusals } from '../../cluster/refused-right.ts';
import { counted } from '../../object/text/in-words.ts';
import { isFacts, type StatusJson, say } from './words.ts';

export type VerdictState =
  | 'switchedOff'
  | 'starting'
  | 'unreachable'
  | 'unreadable'
  | 'unwritable'
  | 'standby'
  /** A lease is needed, and neither this process nor anybody else is known to hold it. */
  | 'leaderless'
  | 'dryRun'
  | 'blocked'
  | 'behind'
  /** The addresses are right, but something else does not cross. */
  | 'incomplete'
  | 'inStep'
  /** A management API alone. */
  | 'serving'
  | 'notReady';

export interface Verdict {
  state: VerdictState;
  /** False when an operator should look: `hostward status` then exits with 1. */
  isWell: boolean;
  /** The parts in one sentence. */
  sentence: string;
  /** The worst first. */
  parts: readonly VerdictPart[];
}

export interface VerdictPart {
  /** What it is about; the same while counts and ages in the text change. */
  name: string;
  text: string;
  /** Where the part itself knows, RFC 3339. */
  since?: string;
}

export interface Outage {
  cluster: 'virtual' | 'host';
  /** `unreadable`: the server answers, but not with lists and watches. */
  kind: 'unreachable' | 'unreadable' | 'unwritable';
  /** Wall time, RFC 3339. */
  since: string;
  seconds: number;
  message: string;
  /** The server refuses every read. */
  isShut?: true;
}

export interface VerdictFacts {
  isSwitchedOff: boolean;
  /** The windows that the start still waits for; undefined when the first lists are in. */
  waitsFor: string | undefined;
  outages: readonly Outage[];
  standbyBehind: string | undefined;
  /** Leads to the page of that replica, where it can be known. */
  leaderCommand?: string | undefined;
  /** Why nobody is known to write. */
  leaderless: string | undefined;
  /** Rights that are missing, and what else is to be mended before anything about objects can be believed. */
  toMendFirst?: readonly VerdictPart[];
  /** For want of a right: `objects`, of which only what was true before is known, or something else. */
  unread?: 'objects' | 'else' | undefined;
  isDryRun: boolean;
  /** Objects that a dry run would write. */
  differences: number;
  /** Virtual objects. */
  objects: number;
  /** Why the owner of all copies is missing. */
  ownerMissing: string | undefined;
  /**
   * Reason → number of objects that cannot reach the host, or with `Contested` do not stay there, until an operator acts. `DeleteWithheld` and
   * `DeleteRefused` count copies that stay on it.
   */
  blocked: ReadonlyMap<string, number>;
  /** Since when the oldest of them is, and of those that are contested, RFC 3339. */
  blockedSince?: string | undefined;
  contestedSince?: string | undefined;
  /** Reason → number of objects or references of which a part does not cross until somebody acts. */
  gaps: ReadonlyMap<string, number>;
  /** Objects with a change that has not reached the other side yet. */
  waiting: number;
  oldestSeconds: number;
}

/** A younger change is simply under way; a living cluster always has some. */
const patienceSeconds = 5;

export function verdictOf(facts: VerdictFacts): Verdict {
  const { outages, waitsFor, toMendFirst = [] } = facts;
  if (facts.isSwitchedOff) return well('switchedOff', 'switched off: nothing is touched');
  const [outage, ...others] = [...outages].sort((a, b) => severity.indexOf(a.kind) - severity.indexOf(b.kind));
  if (outage !== undefined)
    return unwell(outage.kind, [...[outage, ...others].map(outagePart), ...toMendFirst, ...besideOutage(facts)]);
  if (waitsFor !== undefined)
    return unwell('starting', [...toMendFirst, { name: 'starting', text: `starting: waiting for ${waitsFor}` }]);
  if (facts.leaderless !== undefined) {
    const text = `nothing is written: ${facts.leaderless}`;
    return unwell('leaderless', [{ name: 'lease', text }, ...toMendFirst, ...besideOutage(facts)]);
  }
  if (facts.standbyBehind !== undefined)
    return worsened(well('standby', standbyText(facts.standbyBehind, facts.leaderCommand)), toMendFirst);
  if (facts.isDryRun) {
    const { differences } = facts;
    const writes = `${differences === 0 ? 'nothing' : counted(differences, 'object')} would be written`;
    const { lacking, other } = gapsOf(facts);
    const [first, ...others] = [...toMendFirst, ...lacking, ...ownerPart(facts), ...obstaclesOf(facts), ...other];
    if (first === undefined) return well('dryRun', `dry run: ${writes}`);
    return unwell('dryRun', [
      { ...first, text: `dry run: ${first.text}` },
      ...others,
      { name: 'dryRun', text: writes },
    ]);
  }
  return stateOfObjects(facts);
}

/** The same state with more that somebody should look at. */
export function worsened(verdict: Verdict, found: readonly (string | VerdictPart)[]): Verdict {
  if (found.length === 0) return verdict;
  const more = found.map((one) => (typeof one === 'string' ? { name: one, text: one } : one));
  const parts = verdict.isWell ? [...more, ...verdict.parts] : [...verdict.parts, ...more];
  return unwell(verdict.state, parts);
}

/** A standby does not know what needs a person; its verdict says who does. */
function standbyText(leader: string, command: string | undefined): string {
  const way = command === undefined ? '' : `, by way of ${command}`;
  return `standby: ${leader} does the writing, and its page knows what needs a person${way}`;
}

/** What an operator must mend is reported during the outage too, so that it does not begin again when the outage ends. */
function besideOutage(facts: VerdictFacts): VerdictPart[] {
  const { lacking, other } = gapsOf(facts);
  return [...lacking, ...waits(facts), ...ownerPart(facts), ...obstaclesOf(facts), ...other];
}

/** What keeps objects off the host until an operator acts. */
function obstaclesOf({ objects, blocked, blockedSince, contestedSince }: VerdictFacts): VerdictPart[] {
  const {
    Contested: contested = 0,
    Altered: altered = 0,
    DeleteWithheld: withheld = 0,
    DeleteRefused: unremoved = 0,
    ...others
  } = Object.fromEntries(blocked);
  const sum = Object.values(others).reduce((total, count) => total + count, 0);
  const inOrder = Object.entries(others).sort(([one], [other]) => rankOf(one) - rankOf(other));
  const reasons = inOrder.map(([reason, count]) => `${count} ${reason}`);
  const cannotReach = `${sum} of ${counted(objects, 'object')} cannot reach the host (${reasons.join(', ')})`;
  const found: VerdictPart[] = sum === 0 ? [] : [partSince('blocked', cannotReach, blockedSince)];
  // The tenant has these objects no more, so they are no part of the number of objects.
  if (withheld > 0) {
    const text = `${counted(withheld, 'delete')} ${withheld === 1 ? 'waits' : 'wait'} for a second list (DeleteWithheld)`;
    found.push(partSince('DeleteWithheld', text, sum === 0 ? blockedSince : undefined));
  }
  if (unremoved > 0) {
    const text = `${counted(unremoved, 'copy', 'copies')} cannot be removed from the host (DeleteRefused)`;
    found.push(partSince('DeleteRefused', text, sum + withheld === 0 ? blockedSince : undefined));
  }
  // Its copy is there, and comes and goes with the writes of the other client.
  for (const [who, count] of Object.entries({ 'another client': contested, 'admission, on our own writes': altered })) {
    const text = `${count} of ${counted(objects, 'object')} ${count === 1 ? 'keeps' : 'keep'} being changed on the host by ${who} (Contested)`;
    if (count > 0) found.push(partSince(`Contested ${who}`, text, contestedSince));
  }
  return found;
}

/** What lacks a right comes first: one right may be missing for all objects of a kind. */
function rankOf(reason: string): number {
  return reason === lackingReason ? 0 : 1;
}

const lackingReason = 'Forbidden';

/** The objects know since when, also where another replica has led in between. */
function partSince(name: string, text: string, since: string | undefined): VerdictPart {
  return { name, text, ...(since !== undefined && { since }) };
}

/** Nothing new is made without the owner, so that it is the worst. */
function ownerPart({ ownerMissing }: VerdictFacts): VerdictPart[] {
  return ownerMissing === undefined ? [] : [{ name: 'OwnerMissing', text: `OwnerMissing: ${ownerMissing}` }];
}

/** Changes that do not get through, which may be the first sign that a cluster has stopped answering. */
function waits({ waiting, oldestSeconds }: VerdictFacts): VerdictPart[] {
  if (waiting === 0 || oldestSeconds < patienceSeconds) return [];
  const text = `${counted(waiting, 'object')} ${waiting === 1 ? 'waits' : 'wait'}, the oldest change is ${Math.round(oldestSeconds)} s old`;
  return [{ name: 'behind', text }];
}

const gapWords: Readonly<Record<string, (count: number) => string>> = {
  BackflowFailed: (count) => `host edits of ${counted(count, 'object')} cannot reach the tenant`,
  PatchFailed: (count) => `${counted(count, 'object')} went on without a patch that failed`,
  ReferenceUnread: (count) => `nobody knows what is behind ${counted(count, 'reference')}`,
  ReferenceUnresolved: (count) =>
    `${counted(count, 'reference has', 'references have')} nothing behind ${count === 1 ? 'it' : 'them'}`,
};

/** What does not cross although the object does; `lacking` for want of a right. */
function gapsOf({ gaps }: VerdictFacts): Record<'lacking' | 'other', VerdictPart[]> {
  const partsOf = (isLacking: boolean): VerdictPart[] =>
    [...gaps].flatMap(([reason, count]) => {
      if ((reason === lackingReason) !== isLacking) return [];
      const words = gapWords[reason]?.(count) ?? `the content of ${counted(count, 'reference')} does not cross`;
      return [{ name: `gap ${reason}`, text: `${words} (${reason})` }];
    });
  return { lacking: partsOf(true), other: partsOf(false) };
}

function stateOfObjects(facts: VerdictFacts): Verdict {
  const { objects, waiting, toMendFirst = [], unread } = facts;
  const [owner, late, obstacles] = [ownerPart(facts), waits(facts), obstaclesOf(facts)];
  const { lacking, other } = gapsOf(facts);
  const [first, ...others] = [...owner, ...late, ...obstacles, ...other];
  const isBlocked = owner.length > 0 || (late.length === 0 && obstacles.length > 0);
  const ofObjects = isBlocked ? 'blocked' : late.length > 0 ? 'behind' : 'incomplete';
  const state = unread === 'objects' ? 'unreadable' : ofObjects;
  const before = [...toMendFirst, ...lacking];
  if (first !== undefined)
    return unwell(state, [...before, { ...first, text: `${ofObjects}: ${first.text}` }, ...others]);
  const underWay = waiting === 0 ? '' : `, ${waiting} on the way`;
  const inStep = `in step: ${counted(objects, 'object')}${underWay}`;
  if (before.length === 0) return well('inStep', inStep);
  const known = unread === 'objects' ? `as far as they can be read, ${inStep}` : inStep;
  const isWhole = unread === undefined && lacking.length === 0;
  return unwell(isWhole ? 'inStep' : state, [...before, { name: 'inStep', text: known }]);
}

const severity: readonly Outage['kind'][] = ['unreachable', 'unreadable', 'unwritable'];

const cannot: Readonly<Record<Outage['kind'], string>> = {
  unreachable: 'cannot reach',
  unreadable: 'gets no lists and watches from',
  unwritable: 'cannot write to',
};

export function outageSentence({ cluster, kind, since, message }: Outage): string {
  return `${cannot[kind]} the ${cluster} cluster since ${since}: ${message}`;
}

function outagePart(outage: Outage): VerdictPart {
  return { name: `${outage.cluster} ${outage.kind}`, text: outageSentence(outage), since: outage.since };
}

function well(state: VerdictState, sentence: string): Verdict {
  return { state, isWell: true, sentence, parts: [{ name: state, text: sentence }] };
}

/** What needs a person tells the whole words of a server that refuses; here they would hide what comes after them. */
function unwell(state: VerdictState, given: readonly VerdictPart[]): Verdict {
  const parts = given.map((part) => ({ ...part, text: withShortRefusals(part.text) }));
  return { state, isWell: false, sentence: parts.map(({ text }) => text).join('; '), parts };
}

/** A verdict as the status shows it. */
export type DatedVerdict = Omit<Verdict, 'parts'> & {
  /** Of the state while all is well, and of the worst part otherwise. RFC 3339. */
  since: string;
  /** When there are several. */
  parts?: readonly { part: string; since: string }[];
};

/** Remembers since when the verdict is what it is, and each of its parts: the sentence may change, as counts of objects do. */
export class VerdictSince {
  #known: { state: Verdict['state'] | undefined; isWell: boolean; since: string } | undefined;
  #parts: ReadonlyMap<string, string> = new Map();

  /** To be called often enough that the times are right to a second. */
  note({ parts, ...verdict }: Verdict, wallTime: Date): DatedVerdict {
    const now = wallTime.toISOString().replace(/\.\d+Z$/, 'Z');
    const { state, isWell } = verdict;
    if (this.#known === undefined || this.#known.state !== state || this.#known.isWell !== isWell)
      this.#known = { state, isWell, since: now };
    const before = this.#parts;
    this.#parts = new Map(parts.map(({ name, since }) => [name, since ?? before.get(name) ?? now]));
    const dated = parts.map(({ name, text }) => ({ part: text, since: this.#parts.get(name) as string }));
    const since = isWell ? this.#known.since : (dated[0]?.since ?? now);
    return { ...verdict, since, ...(dated.length > 1 && { parts: dated }) };
  }
}

/** The parts of a verdict for people, each with the time since when it holds. */
export function datedParts({ sentence, since, parts }: StatusJson): string[] {
  const told = Array.isArray(parts) ? parts.filter(isFacts) : [{ part: sentence, since }];
  return told.map(({ part, since }) => {
    const text = say(part);
    // An outage says it in its own words.
    return since === undefined || text.includes(say(since)) ? text : `${text} (since ${say(since)})`;
  });
}
